"""The nouns of the domain: run, task, machine, engine, results, kinds of test. Each is declared
once."""
