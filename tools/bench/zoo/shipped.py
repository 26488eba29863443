"""Models that lie in packages of PyPI."""


def entries():
    return ()
