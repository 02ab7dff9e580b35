"""How each lab's exercises drive a student's code. Runs inside the sandbox: nothing here may be secret."""
