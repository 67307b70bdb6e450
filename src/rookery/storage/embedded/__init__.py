"""The PostgreSQL that Rookery starts itself: its folder, its supervisor process, its owner's side.

Theory of operation. The owner (`server`, on the event loop) starts one supervisor process
(`supervisor`, standard library only) and holds the other end of its standard input. The supervisor
locks the folder (`folder`), ends what an earlier life left over (`leftovers`), becomes an account
that PostgreSQL accepts (`account`), makes the cluster where there is none (`cluster`) and keeps
postgres running (`postmaster`) until its input ends. Whoever of the three is killed, the others
notice: the owner sees its supervisor end, the supervisor reads end of file, and postgres gets a
signal from the kernel when the supervisor is gone.
"""
