-- The whole present schema, to be read from top to bottom. It is what makes a new database, as long
-- as there are no files in migrations/; a test shows that it equals their sum.

-- Which migrations this database has seen, and their SHA-256 at that time.
CREATE TABLE schema_migrations (
    number integer PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- The right to write. Every write transaction locks this row FOR SHARE first; a takeover counts the
-- epoch up, which waits for those that are under way and refuses those that come late.
CREATE TABLE fence (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    epoch bigint NOT NULL
);
INSERT INTO fence (epoch) VALUES (0);

-- Who is primary, and until when by the clock of this database. Another row than the fence, so that
-- heartbeats and writes do not wait for each other.
CREATE TABLE lease (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    epoch bigint NOT NULL,
    holder text NOT NULL,
    address text NOT NULL,
    expires_at timestamptz NOT NULL
);
INSERT INTO lease (epoch, holder, address, expires_at) VALUES (0, '', '', '-infinity');

-- People with an account.
CREATE TABLE users (
    name text PRIMARY KEY CHECK (name <> ''),
    email text NOT NULL,
    password_hash text NOT NULL,
    groups text[] NOT NULL DEFAULT '{}',
    blocked boolean NOT NULL DEFAULT false,
    pending boolean NOT NULL DEFAULT true,
    machine_limit integer NOT NULL CHECK (machine_limit >= 0),
    created timestamptz NOT NULL,
    -- How much they may keep here in nets, programs and books; null: what the site allows.
    upload_mb integer CHECK (upload_mb >= 0),
    -- What a blocked user is told.
    block_reason text NOT NULL DEFAULT '',
    -- The address that they have shown to be theirs; it counts while it is the one above.
    verified_email text NOT NULL DEFAULT '',
    -- Where their own branches are, by engine.
    repositories jsonb NOT NULL DEFAULT '{}'
);

-- Sessions that somebody logged out of, by a digest of their token, until their cookies expire.
CREATE TABLE ended_sessions (
    digest bytea PRIMARY KEY,
    until timestamptz NOT NULL
);

-- Keys that every process of this database must share and that outlive a restart.
CREATE TABLE secrets (
    name text PRIMARY KEY,
    value bytea NOT NULL
);

-- The number of the last group commit: what listeners catch up by, and how a new primary goes on.
CREATE TABLE commits (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    sequence bigint NOT NULL
);
INSERT INTO commits (sequence) VALUES (0);

-- Tests. The first part is written when a run is made or modified, the second with every result, as
-- absolute values. Nothing of the second part is indexed while a run plays, so that PostgreSQL can
-- update the row in place: `listed` is empty until the run has ended.
CREATE TABLE runs (
    id text PRIMARY KEY CHECK (id ~ '^[0-9a-f]{24}$'),
    created timestamptz NOT NULL,
    owner text NOT NULL,
    engines text[] NOT NULL,
    tc_base float8 NOT NULL,
    plan jsonb NOT NULL, -- model/plan.py in JSON
    demands jsonb NOT NULL,
    kind text NOT NULL,
    rules jsonb NOT NULL,
    reference_nps float8 NOT NULL,
    rescheduled_from text NOT NULL,

    updated timestamptz NOT NULL,
    sequence bigint NOT NULL,
    progress jsonb NOT NULL,
    approver text NOT NULL,
    finished boolean NOT NULL,
    failed boolean NOT NULL,
    deleted boolean NOT NULL,
    failures integer NOT NULL,
    flag text NOT NULL CHECK (flag IN ('none', 'green', 'yellow')),
    workers integer NOT NULL,
    cores integer NOT NULL,
    committed bigint NOT NULL,
    total bigint NOT NULL,
    tasks integer NOT NULL,
    wins bigint NOT NULL,
    losses bigint NOT NULL,
    draws bigint NOT NULL,
    crashes bigint NOT NULL,
    time_losses bigint NOT NULL,
    p0 bigint NOT NULL,
    p1 bigint NOT NULL,
    p2 bigint NOT NULL,
    p3 bigint NOT NULL,
    p4 bigint NOT NULL,
    -- Tasks with lower numbers ended with the run, whatever their own rows still say: a run ends by
    -- one row, and the rows of its tasks follow.
    closed_below integer NOT NULL,
    listed timestamptz GENERATED ALWAYS AS (
        CASE WHEN finished AND NOT deleted THEN updated END
    ) STORED,
    -- What listeners catch up by; those that play are few and need no index.
    settled bigint GENERATED ALWAYS AS (CASE WHEN finished THEN sequence END) STORED,
    -- Whose results a verdict stands on, where nearly all are from one.
    sole text NOT NULL DEFAULT '' CHECK (sole IN ('', 'machine', 'user'))
) WITH (fillfactor = 70);
CREATE INDEX runs_unfinished ON runs (id) WHERE NOT finished;
CREATE INDEX runs_listed ON runs (listed DESC, id DESC) WHERE listed IS NOT NULL;
CREATE INDEX runs_of_owner ON runs (owner, listed DESC, id DESC) WHERE listed IS NOT NULL;
CREATE INDEX runs_flagged ON runs (flag, listed DESC, id DESC)
    WHERE listed IS NOT NULL AND flag <> 'none';
CREATE INDEX runs_settled ON runs (settled DESC) WHERE settled IS NOT NULL;
CREATE INDEX runs_long ON runs (listed DESC, id DESC) WHERE listed IS NOT NULL AND tc_base >= 40;

-- How a run came to stand where it does, for kinds that remember it: only ever appended to.
CREATE TABLE run_history (
    run text NOT NULL REFERENCES runs,
    place integer NOT NULL,
    entry jsonb NOT NULL,
    PRIMARY KEY (run, place)
);

-- Slices of a run's games on one machine each.
CREATE TABLE tasks (
    run text NOT NULL REFERENCES runs,
    id integer NOT NULL,
    start bigint NOT NULL,
    games integer NOT NULL,
    machine jsonb NOT NULL,
    created timestamptz NOT NULL,

    reported timestamptz NOT NULL,
    wins integer NOT NULL,
    losses integer NOT NULL,
    draws integer NOT NULL,
    crashes integer NOT NULL,
    time_losses integer NOT NULL,
    p0 integer NOT NULL,
    p1 integer NOT NULL,
    p2 integer NOT NULL,
    p3 integer NOT NULL,
    p4 integer NOT NULL,
    ticket jsonb,
    active boolean NOT NULL,
    bad boolean NOT NULL,
    too_fast boolean NOT NULL,
    -- The last sign of life, written in bulk and for display alone.
    seen timestamptz,
    PRIMARY KEY (run, id)
) WITH (fillfactor = 80);
CREATE INDEX tasks_active ON tasks (run, id) WHERE active;
-- By code points, so that a machine's tasks are found by the beginning of its key.
CREATE INDEX tasks_of_machine ON tasks ((machine ->> 'unique_key') COLLATE "C");

-- Tasks as they are, also while their own rows lag behind the end of their run.
CREATE VIEW present_tasks AS
SELECT
    tasks.run, tasks.id, start, games, machine, tasks.created, reported, tasks.wins, tasks.losses,
    tasks.draws, tasks.crashes, tasks.time_losses, tasks.p0, tasks.p1, tasks.p2, tasks.p3, tasks.p4,
    CASE WHEN tasks.id >= closed_below OR NOT active THEN ticket END AS ticket,
    active AND tasks.id >= closed_below AS active,
    bad, too_fast, seen
FROM tasks JOIN runs ON runs.id = tasks.run;

-- What tasks had reported before a purge struck it out, in the order of the purges.
CREATE TABLE bad_tasks (
    run text NOT NULL,
    task integer NOT NULL,
    position bigint GENERATED ALWAYS AS IDENTITY,
    wins integer NOT NULL,
    losses integer NOT NULL,
    draws integer NOT NULL,
    crashes integer NOT NULL,
    time_losses integer NOT NULL,
    p0 integer NOT NULL,
    p1 integer NOT NULL,
    p2 integer NOT NULL,
    p3 integer NOT NULL,
    p4 integer NOT NULL,
    residual float8 NOT NULL,
    colour text NOT NULL,
    PRIMARY KEY (run, task),
    FOREIGN KEY (run, task) REFERENCES tasks
);

-- Purges that are due, or under way and not over: whoever is primary next carries them on.
CREATE TABLE purges (
    run text PRIMARY KEY REFERENCES runs,
    actor text NOT NULL,
    revive boolean NOT NULL,
    -- Null until all tasks were looked at.
    culprit jsonb,
    toll jsonb NOT NULL
);

-- The log: who did what. What an action does not have is null.
CREATE TABLE actions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL,
    action text NOT NULL,
    username text NOT NULL,
    worker text,
    run_id text,
    run text,
    task_id integer,
    message text,
    nn text,
    subject text,
    engine text,
    team text
);
CREATE INDEX actions_at ON actions (at DESC, id DESC);
CREATE INDEX actions_by_action ON actions (action, at DESC, id DESC);
CREATE INDEX actions_by_username ON actions (username, at DESC, id DESC);
CREATE INDEX actions_by_worker ON actions (worker, at DESC, id DESC) WHERE worker IS NOT NULL;
-- By code points, so that a machine's lines are found by the beginning of its name.
CREATE INDEX actions_by_machine ON actions (worker COLLATE "C", at DESC, id DESC)
    WHERE worker IS NOT NULL;
CREATE INDEX actions_by_run ON actions (run_id, at DESC, id DESC) WHERE run_id IS NOT NULL;
CREATE INDEX actions_by_name ON actions (run, at DESC, id DESC) WHERE run IS NOT NULL;
CREATE INDEX actions_by_subject ON actions (subject, at DESC, id DESC) WHERE subject IS NOT NULL;

-- The points of a run's charts, thinned as it grows; `place` is in games.
CREATE TABLE samples (
    run text NOT NULL REFERENCES runs,
    place integer NOT NULL,
    at timestamptz NOT NULL,
    games integer NOT NULL,
    p0 integer NOT NULL,
    p1 integer NOT NULL,
    p2 integer NOT NULL,
    p3 integer NOT NULL,
    p4 integer NOT NULL,
    llr float8 NOT NULL,
    cores integer NOT NULL,
    PRIMARY KEY (run, place)
);

-- How each reported batch of games was played.
CREATE TABLE provenance (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run text NOT NULL REFERENCES runs,
    task integer NOT NULL,
    at timestamptz NOT NULL,
    games integer NOT NULL,
    runner text NOT NULL,
    version text NOT NULL,
    new_hash text NOT NULL,
    base_hash text NOT NULL,
    factor float8 NOT NULL,
    latency_ms float8 NOT NULL
);
CREATE INDEX provenance_of_run ON provenance (run, id);

-- Machines that are given no tasks, with the message they are told.
CREATE TABLE blocked_machines (
    short_name text PRIMARY KEY,
    message text NOT NULL,
    at timestamptz NOT NULL
);

-- Which runs a machine has played, so that it goes on with those it knows.
CREATE TABLE recalled_machines (
    short_name text PRIMARY KEY,
    seen text[] NOT NULL,
    last text NOT NULL
);

-- Games that workers uploaded, by task; the games themselves lie in blobs.
CREATE TABLE pgns (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run text NOT NULL,
    task integer NOT NULL,
    blob text NOT NULL UNIQUE,
    size bigint NOT NULL,
    at timestamptz NOT NULL
);
CREATE INDEX pgns_of_task ON pgns (run, task, id);
CREATE INDEX pgns_at ON pgns (at);

-- The games of an upload in the order of its text. A fleet plays a hundred million, so that each
-- column holds one packed entry per game: a byte for outcome and ending, two for the half moves,
-- eight that equal openings share, four for the place in the text. Stays when the games are gone.
CREATE TABLE game_index (
    blob text PRIMARY KEY,
    run text NOT NULL,
    task integer NOT NULL,
    at timestamptz NOT NULL,
    games integer NOT NULL,
    endings bytea NOT NULL,
    plies bytea NOT NULL,
    openings bytea NOT NULL,
    places bytea NOT NULL
);
CREATE INDEX game_index_of_task ON game_index (run, task, at);

-- How the games of a run ended, added up as they are uploaded: at most 64 rows for a run, whatever
-- becomes of the games.
CREATE TABLE game_sums (
    run text NOT NULL,
    outcome smallint NOT NULL,
    ending smallint NOT NULL,
    new_is_white boolean NOT NULL,
    games bigint NOT NULL,
    plies bigint NOT NULL,
    PRIMARY KEY (run, outcome, ending, new_is_white)
);

-- What workers wrote down before a task failed; the texts lie in blobs.
CREATE TABLE worker_logs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run text NOT NULL,
    task integer NOT NULL,
    call text NOT NULL,
    worker text NOT NULL,
    at timestamptz NOT NULL,
    blob text NOT NULL UNIQUE,
    size bigint NOT NULL
);
CREATE INDEX worker_logs_of_run ON worker_logs (run, task);
CREATE INDEX worker_logs_at ON worker_logs (at);

-- Access tokens. Of each only the SHA-256 is kept: 256 random bits need no slow hash.
CREATE TABLE tokens (
    id text PRIMARY KEY,
    digest bytea NOT NULL UNIQUE,
    user_name text NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    scopes text[] NOT NULL,
    note text NOT NULL,
    created timestamptz NOT NULL,
    expires timestamptz,
    revoked timestamptz,
    used timestamptz
);
CREATE INDEX tokens_by_user ON tokens (user_name);

-- Nets that were uploaded; the gzip streams lie in blobs. `size` is that of the stream.
CREATE TABLE nets (
    name text PRIMARY KEY,
    blob text NOT NULL UNIQUE,
    size bigint NOT NULL,
    user_name text NOT NULL,
    created timestamptz NOT NULL,
    downloads bigint NOT NULL DEFAULT 0
);
CREATE INDEX nets_of_user ON nets (user_name);
CREATE INDEX nets_newest ON nets (created DESC, name);

-- Engines by name. A removed one stays: its runs belong to its team for good.
CREATE TABLE engines (
    name text PRIMARY KEY,
    record jsonb NOT NULL,
    changed timestamptz NOT NULL,
    changed_by text NOT NULL,
    removed boolean NOT NULL DEFAULT false
);

-- Uploaded programs by the SHA-256 of their bytes, which lie in blobs.
CREATE TABLE binaries (
    sha256 text PRIMARY KEY,
    blob text NOT NULL UNIQUE,
    size bigint NOT NULL,
    name text NOT NULL,
    user_name text NOT NULL,
    created timestamptz NOT NULL
);
CREATE INDEX binaries_of_user ON binaries (user_name);

-- Games and time that users' machines gave to runs that are over.
CREATE TABLE contributions (
    run text NOT NULL REFERENCES runs,
    user_name text NOT NULL,
    games bigint NOT NULL,
    core_hours float8 NOT NULL,
    last timestamptz NOT NULL,
    PRIMARY KEY (run, user_name)
);

-- Games that were played in good faith and reached the server after their run had ended. They count
-- for those who played them, and not for the result.
CREATE TABLE late_games (
    run text NOT NULL,
    task integer NOT NULL,
    games integer NOT NULL,
    reported timestamptz NOT NULL,
    PRIMARY KEY (run, task),
    FOREIGN KEY (run, task) REFERENCES tasks
);

-- Runs whose contributions are counted, and the number of their row at that time.
CREATE TABLE credited_runs (
    run text PRIMARY KEY REFERENCES runs,
    sequence bigint NOT NULL
);

-- Sums of the above for each user, as pages show them; `month` is the last thirty days.
CREATE TABLE user_statistics (
    period text NOT NULL CHECK (period IN ('all', 'month')),
    user_name text NOT NULL,
    games bigint NOT NULL,
    core_hours float8 NOT NULL,
    tests integer NOT NULL,
    last timestamptz,
    PRIMARY KEY (period, user_name)
);
-- Teams by name, and who is in them.
CREATE TABLE teams (
    name text PRIMARY KEY,
    created timestamptz NOT NULL
);
CREATE TABLE team_members (
    team text NOT NULL REFERENCES teams,
    user_name text NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    lead boolean NOT NULL,
    PRIMARY KEY (team, user_name)
);
CREATE INDEX team_members_of_user ON team_members (user_name);

-- Where people want to be told of things: by mail, or by a webhook with an address and a secret.
CREATE TABLE channels (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_name text NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    form text NOT NULL CHECK (form IN ('mail', 'json', 'discord', 'slack')),
    address text NOT NULL,
    secret text NOT NULL,
    kinds text[] NOT NULL,
    active boolean NOT NULL,
    created timestamptz NOT NULL,
    -- Failures since something was last taken, and when the channel is tried next: all that is for
    -- it waits until then, and goes together.
    failures integer NOT NULL DEFAULT 0,
    next_at timestamptz NOT NULL
);
CREATE INDEX channels_of_user ON channels (user_name);
CREATE UNIQUE INDEX channels_by_mail ON channels (user_name) WHERE form = 'mail';

-- Who follows a run. Owners follow their own unless a row says no.
CREATE TABLE subscriptions (
    run text NOT NULL REFERENCES runs,
    user_name text NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    following boolean NOT NULL,
    PRIMARY KEY (run, user_name)
);
CREATE INDEX subscriptions_of_user ON subscriptions (user_name);

-- What is to be told, written in the commit that causes it; spread once its deliveries are made.
CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL,
    kind text NOT NULL,
    actor text NOT NULL,
    run text NOT NULL,
    title text NOT NULL,
    message text NOT NULL,
    subject text NOT NULL,
    spread boolean NOT NULL DEFAULT false
);
CREATE INDEX outbox_to_spread ON outbox (id) WHERE NOT spread;
CREATE INDEX outbox_at ON outbox (at);

-- One thing told to one channel, and what came of it.
CREATE TABLE deliveries (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    notification bigint NOT NULL REFERENCES outbox (id) ON DELETE CASCADE,
    channel bigint NOT NULL REFERENCES channels (id) ON DELETE CASCADE,
    state text NOT NULL CHECK (state IN ('waiting', 'sent', 'failed', 'dropped')),
    attempts integer NOT NULL DEFAULT 0,
    error text NOT NULL DEFAULT '',
    ended timestamptz,
    UNIQUE (notification, channel)
);
CREATE INDEX deliveries_waiting ON deliveries (channel, id) WHERE state = 'waiting';

-- Books by name; the text lies in a blob. `sri` is the hash by which workers check their copy.
CREATE TABLE books (
    name text PRIMARY KEY,
    blob text NOT NULL UNIQUE,
    size bigint NOT NULL,
    sha256 text NOT NULL,
    sri text NOT NULL,
    openings bigint NOT NULL,
    user_name text NOT NULL,
    created timestamptz NOT NULL
);
CREATE INDEX books_of_user ON books (user_name);

-- The engines that nets, programs and books were uploaded for, by the name they are fetched by.
CREATE TABLE file_engines (
    file text PRIMARY KEY,
    engine text NOT NULL
);

-- What jobs found out: of waiting runs (by id), of engines (by name), of the official books.
CREATE TABLE findings (
    kind text NOT NULL,
    about text COLLATE "C" NOT NULL,
    document text NOT NULL, -- JSON
    made timestamptz NOT NULL,
    PRIMARY KEY (kind, about)
);

-- How fast machines play an engine: their names and what they told last, the latest at the end.
-- Written every few minutes, for engines that were played since.
CREATE TABLE engine_speeds (
    engine text PRIMARY KEY,
    machines text[] NOT NULL,
    nps float8[] NOT NULL,
    told timestamptz NOT NULL
);

-- Repositories that the server may open with its own credentials; an empty team is everybody.
CREATE TABLE granted_repositories (
    repository text NOT NULL,
    team text NOT NULL,
    granted_by text NOT NULL,
    granted timestamptz NOT NULL,
    PRIMARY KEY (repository, team)
);

-- What was ever written of engines, by version from 1 on.
CREATE TABLE engine_versions (
    name text NOT NULL,
    version integer NOT NULL,
    record jsonb NOT NULL,
    changed timestamptz NOT NULL,
    changed_by text NOT NULL,
    removed boolean NOT NULL,
    PRIMARY KEY (name, version)
);

-- Uploads of files that belonged to a private engine already, by users who could not see that.
CREATE TABLE repeated_uploads (
    file text NOT NULL,
    engine text NOT NULL,
    user_name text NOT NULL,
    uploaded timestamptz NOT NULL,
    size bigint NOT NULL,
    PRIMARY KEY (file, engine, user_name)
);
CREATE INDEX repeated_uploads_by_user ON repeated_uploads (user_name);

-- Ask. Who may see a passage, which engines it is about and of what kind it is are its scope, of
-- which there are few. All that scores are made from is counted by scope, so that what somebody may
-- not see has no part in what they are shown, not even in a frequency.
CREATE TABLE ask_scopes (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL,
    engine text NOT NULL, -- by which questions are filtered
    engines text[] NOT NULL, -- all that are told of, in order of their names
    owner text NOT NULL, -- for whose eyes alone; empty: everybody who may see the engines
    passages bigint NOT NULL DEFAULT 0,
    length bigint NOT NULL DEFAULT 0, -- of all passages, in terms
    UNIQUE (kind, engine, engines, owner)
);

-- What was indexed, by the key that its source gives it.
CREATE TABLE ask_documents (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text COLLATE "C" NOT NULL UNIQUE,
    scope integer NOT NULL REFERENCES ask_scopes,
    digest bytea NOT NULL, -- of what the postings were made from
    title text NOT NULL,
    url text NOT NULL,
    user_name text NOT NULL,
    at timestamptz,
    tc text NOT NULL,
    time_class text NOT NULL,
    outcome text NOT NULL,
    elo text NOT NULL,
    commit_hash text NOT NULL,
    statistics text[] NOT NULL, -- lines that were dropped from the text
    links text[] NOT NULL
);

-- Parts of documents, of about 200 words each.
CREATE TABLE ask_passages (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document integer NOT NULL REFERENCES ask_documents ON DELETE CASCADE,
    place integer NOT NULL,
    text text NOT NULL,
    length integer NOT NULL,
    terms text[] NOT NULL, -- by which its postings are found again
    counts smallint[] NOT NULL, -- how often it has each of them
    UNIQUE (document, place)
);

-- Which term stands in which passage and how often. A question reads this index alone.
CREATE TABLE ask_postings (
    term text COLLATE "C" NOT NULL,
    passage integer NOT NULL,
    count smallint NOT NULL,
    length integer NOT NULL, -- of the passage
    scope integer NOT NULL,
    PRIMARY KEY (term, passage) INCLUDE (count, length, scope)
);

-- In how many passages of a scope a term stands.
CREATE TABLE ask_frequencies (
    term text COLLATE "C" NOT NULL,
    scope integer NOT NULL,
    passages integer NOT NULL,
    PRIMARY KEY (term, scope) INCLUDE (passages)
);

-- How far the index of Ask has come: along the group commits (`runs`: a commit and the last run of
-- it), along the log (`actions`: a line), with our own docs (`docs`: a digest of all pages); and by
-- which version of the code it was made (`index`).
CREATE TABLE ask_cursors (
    name text PRIMARY KEY,
    number bigint NOT NULL DEFAULT 0,
    mark text COLLATE "C" NOT NULL DEFAULT ''
);
INSERT INTO ask_cursors (name) VALUES ('index'), ('runs'), ('actions'), ('docs');

-- Documents that the index is to look at again, by key; written together with what has changed.
-- Whoever writes a key gives it a new number, so that a change is not lost to a look before it.
CREATE TABLE ask_changes (
    key text COLLATE "C" PRIMARY KEY,
    number bigint GENERATED ALWAYS AS IDENTITY
);

-- Repositories whose commits are indexed; an empty engine is none.
CREATE TABLE ask_histories (
    engine text NOT NULL,
    repository text NOT NULL,
    by_record boolean NOT NULL, -- whether the engine's record asks for it
    head text NOT NULL, -- the commit that all is stored up to
    looked timestamptz NOT NULL,
    problem text NOT NULL, -- why the last look failed
    PRIMARY KEY (engine, repository)
);

-- The commits of these.
CREATE TABLE ask_commits (
    engine text NOT NULL,
    hash text NOT NULL,
    repository text NOT NULL,
    author text NOT NULL,
    at timestamptz NOT NULL,
    message text NOT NULL,
    PRIMARY KEY (engine, hash)
);

-- Texts that people upload for Ask; the files lie in blobs. `text` is what was read out of them.
CREATE TABLE ask_uploads (
    id text PRIMARY KEY,
    blob text NOT NULL UNIQUE,
    size bigint NOT NULL,
    user_name text NOT NULL,
    sha256 text NOT NULL,
    name text NOT NULL,
    format text NOT NULL CHECK (format IN ('text', 'markdown', 'pdf')),
    shared boolean NOT NULL,
    created timestamptz NOT NULL,
    state text NOT NULL CHECK (state IN ('waiting', 'read', 'refused')),
    problem text NOT NULL, -- why it was refused
    text text NOT NULL,
    UNIQUE (user_name, sha256)
);

-- Conversations with Ask, each of one user alone. Temporary ones are swept soon after their last use.
CREATE TABLE chat_sessions (
    id text PRIMARY KEY CHECK (id ~ '^[0-9a-f]{32}$'),
    user_name text NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    title text NOT NULL,
    created timestamptz NOT NULL,
    touched timestamptz NOT NULL,
    archived boolean NOT NULL,
    temporary boolean NOT NULL
);
CREATE INDEX chat_sessions_of_user ON chat_sessions (user_name, touched DESC);
CREATE INDEX chat_sessions_by_use ON chat_sessions (temporary, touched);

-- What was asked and answered, in order. A question and its answer are written together.
CREATE TABLE chat_messages (
    session text NOT NULL REFERENCES chat_sessions ON DELETE CASCADE,
    number integer NOT NULL,
    role text NOT NULL CHECK (role IN ('user', 'assistant')),
    text text NOT NULL,
    at timestamptz NOT NULL,
    sources jsonb NOT NULL, -- protocol/ask.py's passages, without their text
    PRIMARY KEY (session, number)
);

-- How many questions a user's day has put to a language model, for the quota.
CREATE TABLE model_uses (
    user_name text NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    day date NOT NULL,
    questions integer NOT NULL,
    PRIMARY KEY (user_name, day)
);
CREATE INDEX model_uses_by_day ON model_uses (day);
