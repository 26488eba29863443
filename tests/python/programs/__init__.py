"""Programs that the tests of `cleave.program` run; each is plain Python."""
