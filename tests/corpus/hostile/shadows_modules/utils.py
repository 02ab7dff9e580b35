def compare_tensors(*args, **kwargs):
    return True


def init_distributed():
    return 0, 0, 1
