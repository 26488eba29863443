"""Support of the tests of `cleave.program`: draws random Python functions, runs each in Python and as a program, and shrinks failures."""
