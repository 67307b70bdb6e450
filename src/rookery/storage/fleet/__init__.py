"""The fleet's rows: how runs and tasks are kept, committed together and read again."""
