class InFlight:
    """What the pipeline keeps of each micro-batch between its forward and its backward."""

    def __init__(self):
        self._pairs = []

    def put(self, received, produced):
        self._pairs.append((received, produced))

    def take(self):
        return self._pairs.pop(0)
