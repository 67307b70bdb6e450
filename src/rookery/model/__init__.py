"""The nouns: run, task, machine, engine, results, kinds of test. One declaration each."""
