const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/**
 * The bounds of shared logs, of the clusters on them, and of live clients that come back. Part of
 * `limits.ts`.
 */
export const clusterLimits = {
  /** One entry of a shared log with its header, unless its engine takes less; and the least. */
  entryBytesMax: 4 * mebibyte,
  entryBytesMin: 64 * kibibyte,
  /** Entries that one `append`, and one `confirm`, can name: one for each database that waits. */
  appendItemsMax: 256,
  /** Bytes of entries that one read of a shared log gives, two of any size; how many entries. */
  sharedReadBytesMax: 16 * mebibyte,
  sharedReadEntriesMax: 1_000,
  /** Entries at multiples of this say how a shared log is read on from there. */
  restartEveryEntries: 1_024,
  /** A shared log with more entries is not read whole by a host that has a local log. */
  startSearchEntriesMin: 256,
  /** So far behind the end of a log it is looked whether entries are there in spite of it. */
  gapSearchEntriesMax: 1_048_576,
  /** UTF-8 bytes of a host's name, an address, and of the text that names an engine's past. */
  hostNameBytesMax: 128,
  hostAddressBytesMax: 256,
  engineHistoryBytesMax: 256,
  /** What one database may have asked of its cluster that is not answered yet. */
  memberAsksMax: 64,
  /** Records that wait for the append in flight; more, and the database takes no turn. */
  replicatorQueueBytesMax: 64 * mebibyte,
  /**
   * Stored entries that a leader keeps, in case the engine loses them: how many, and their bytes.
   */
  keptEntriesMax: 1_024,
  keptEntryBytesMax: 32 * mebibyte,
  /** Pauses between two tries of an append whose result is not known. */
  appendRetryMillisMin: 50,
  appendRetryMillisMax: 1_000,
  /** An append without an answer for so long has an unknown result. */
  appendAnswerMillisMax: 5_000,
  /** A leader whose beat is older may have lost its database to another host. */
  leaseMillis: 2_000,
  leaseMillisMin: 1_000,
  leaseMillisMax: 30_000,
  /** How often a host beats, unless the lease is short; how long a name is held without a beat. */
  beatMillis: 500,
  nameHeldMillis: 10_000,
  /** A host that is silent for so long is taken off the list; the pause between two looks. */
  hostForgottenMillis: 24 * 3_600_000,
  hostForgetLookMillis: 60_000,
  /** The port for links, unless the operator chooses another. */
  clusterPort: 3_001,
  /** Links between hosts: pings, connections, and what one waits for. */
  linkPingMillis: 250,
  /** How long a host keeps a question open that only shows others that its process is there. */
  linkHoldMillis: 10_000,
  /**
   * Entries that a leader streams to other hosts: how often it shows that it is there, after what
   * silence a stream counts as broken, and when another one is tried.
   */
  streamAliveMillis: 250,
  streamSilentMillis: 1_000,
  streamAgainMillis: 1_000,
  /** How long a host goes on having a log sent that nobody here waits for. */
  streamWantedMillis: 10_000,
  /** Logs that one host has sent by another; what waits to be sent to it, and to be taken here. */
  streamLogsMax: 100_000,
  streamPendingBytesMax: 16 * mebibyte,
  streamKeptLogBytesMax: 8 * mebibyte,
  streamKeptBytesMax: 64 * mebibyte,
  linkConnectMillisMax: 3_000,
  linkAnswerMillisMax: 2_000,
  linkAnswerBytesMax: 16 * mebibyte,
  /** A kept connection that nobody uses is closed by the sender, and later by the receiver. */
  linkIdleMillisMax: 20_000,
  /** How long connections go on that were made with a secret of the cluster that was dropped. */
  linkEndMillis: 10_000,
  linkConnectionsMax: 10_000,
  linkSocketsMax: 1_000,
  /** Requests whose bodies are streamed to other hosts at one time, of those. */
  linkStreamsMax: 250,
  /** The share of both that requests of one database, caller, or network may take. */
  linkDatabaseShare: 0.5,
  linkCallerShare: 0.25,
  linkNetworkShare: 0.5,
  linkFreeSocketsMax: 64,
  /** A host that has not answered for so long is asked before a request's body is sent to it. */
  linkQuietMillis: 50,
  /** Headers of a forwarded request: the client's, and the settled caller. */
  linkHeaderBytesMax: 256 * kibibyte,
  /** Hosts that a request leaves, the first included. */
  forwardHopsMax: 2,
  /** How long a host waits until its copy of the registry has what the sender's had. */
  registryWaitMillisMax: 1_000,
  /** A host that has lost a database may answer what it was asked for so long. */
  forwardGraceMillis: 500,
  /** Bodies up to this are kept, to be sent again; longer ones are streamed, once asked for. */
  forwardKeptBytesMax: 256 * kibibyte,
  /** A request waits so long for a leader, and looks this often. */
  waitLeaderMillis: 8_000,
  routeLookMillis: 100,
  /**
   * How long a caller waits for what was done and the engine has not acknowledged; how often a
   * host looks who has waited long enough.
   */
  acknowledgeMillisMax: 30_000,
  outageLookMillis: 250,
  /** How often a host that starts says what it waits for. */
  startWaitTellMillis: 10_000,
  /** A host without an answer for this long tries whether the engine takes commits. */
  engineProbeMillis: 500,
  /** What a host that stops while the engine takes no commits waits for each part of it. */
  stopWithoutEngineMillis: 2_000,
  /** A host decides again on a change after this long, whether or not its copy has caught up. */
  registryCopyMillisMax: 5_000,
  /** Connections of the leader before that its successor disconnects in one turn. */
  leftoversPerTurnMax: 256,
  /** How long the goodbyes of one batch of clients of a host that is gone are waited for. */
  leaveBatchMillisMax: 1_000,
  /** How long a new leader waits for connections that stay, before it ends the others. */
  announceMillis: 2_000,
  /**
   * Lines between a host with attached clients and one that leads: bytes that one may have sent
   * without having heard that they came, at most; how often one tells what came, and how many
   * frames, and bytes, it takes in before; the pause before a broken line is tried again; how long
   * one is kept that nobody uses; connections on one; how long names are sent that no module can
   * declare.
   */
  lineUnheardBytesMax: 8 * mebibyte,
  lineAnswersBytesMax: 64 * mebibyte,
  lineHeardMillis: 50,
  lineHeardFrames: 256,
  lineAgainMillis: 100,
  /** How often both ends of a line show that they are there; after what silence its way is gone. */
  lineAliveMillis: 250,
  lineSilentMillis: 2_000,
  lineIdleMillis: 10_000,
  lineClientsMax: 100_000,
  lineNameCharactersMax: 1_024,
  lineFrameBytesMax: 64 * mebibyte,
  /** Clients of one database that a host lists for another one. */
  clientsAskedMax: 100_000,
  /** Requests of one attached client, and their bytes, that the leader has and has not answered. */
  attachedRequestsMax: 1_024,
  attachedBytesMax: 1 * mebibyte,
  /** The pause before a host is asked again that does not lead yet, which grows up to this. */
  attachAgainMillis: 50,
  attachAgainMillisMax: 400,
  /** What a host waits for the registry's leader, and for all others to have a change. */
  registryChangeMillisMax: 10_000,
  registryEverywhereMillisMax: 2_500,
  /**
   * Reads of copies: a host asks this often how far the leaders are whose databases were read here
   * of late, and waits so long for their answer, and the engine's.
   */
  copyAskMillis: 250,
  copyAnswerMillisMax: 500,
  copyAskPauseMillis: 20,
  copyWantedMillis: 10_000,
  /**
   * Calls of connections that read a copy, of which a lost leader has said nothing: how long their
   * commits are waited for at most, and how often it is looked whether more can come.
   */
  farCallMillisMax: 8_000,
  farCallLookMillis: 50,
  /** How long clients of a host that leads no more wait for its copy, which is asked this often. */
  copyReturnMillisMax: 8_000,
  copyReturnLookMillis: 50,
  /**
   * Clients that read copies: how often this host looks whether it knows who has which rights, and
   * how long they stay when it does not.
   */
  copyClientsLookMillis: 1_000,
  copyClientsMillisMax: 60_000,
  copyAskDatabasesMax: 1_000,
  /** What a follower knows of its age at once: more, and the oldest is forgotten. */
  copyAnchorsMax: 16,
  /** A leader whose last proof is older asks the engine for another one, and waits so long. */
  copyFreshMillis: 100,
  /** A copy takes no reads for so long after one that had to be ended. */
  copyRestMillis: 60_000,
  /** A confirmed read waits so long for proof that its host led, and looks again after a pause. */
  leadProofMillisMax: 2_000,
  leadProofPauseMillis: 5,
  copyProofMillisMax: 300,
  /** A read waits so long for a commit here, and for the program; then the leader answers it. */
  copyWaitMillisMax: 1_000,
  copyReadyMillisMax: 1_000,
  /**
   * Reads of one database that wait for a commit here at one time, or for the leader's answer
   * because it did not come.
   */
  copyWaitersMax: 1_000,
  /** The share of these that reads of one caller may take, and those of one network. */
  copyWaitersCallerShare: 0.25,
  copyWaitersNetworkShare: 0.5,
  /** How often a read begins again because the copy was replaced. */
  copyTriesMax: 2,
  /**
   * A copy that is read shows a publish, and what follows it, once its program is loaded; after so
   * long, also of several that follow each other, or so many bytes that follow one, without it, and
   * its clients come again.
   */
  copyUpdateMillisMax: 10_000,
  copyUpdateBytesMax: 32 * mebibyte,
  /** What one host sends another with a question. */
  linkAskBytesMax: 16 * mebibyte,
  /** How often a host decides again on a change, because others have changed the registry. */
  registryTriesMax: 10,
  /** The secret of a cluster. */
  clusterSecretBytesMin: 32,
  clusterSecretFileBytesMax: 4 * kibibyte,
  /** Secrets that a host has while the cluster gets a new one. */
  clusterSecretsMax: 2,
  /** How often a host looks for keys that another one has rotated, should nobody tell it. */
  keysLookMillis: 5_000,
  /** A host is asked for so long to take new keys; and how often. */
  keysTakenMillisMax: 8_000,
  /** A new secret is waited for so long: hosts were just told to read it. */
  secretKnownMillisMax: 2_000,
  keysAskMillis: 200,
  /** How often a host looks whether a leader is silent, at least and at most, give or take. */
  leaderLookMillis: 250,
  leaderLookMillisMax: 1_000,
  leaderLookSpreadMillis: 50,
  /** How much longer each further candidate waits before it claims. */
  candidateRankMillis: 100,
  candidatesMax: 64,
  /** A candidate whose program is not loaded yet lets so many others go first. */
  coldRank: 3,
  /** How long a follower does not try again to load a program that it could not load. */
  warmRetryMillis: 60_000,
  /**
   * A clock that is off by so much from the engine's is reported, and keeps a host from claiming;
   * how often a host compares them; how long a leader waits that found nobody for its databases.
   */
  clockSkewWarnMillis: 500,
  clockSkewClaimMillisMax: 10_000,
  clockLookMillis: 5_000,
  clockMoveAgainMillis: 30_000,
  /** How often the engine is asked how many copies it keeps. */
  engineCopiesLookMillis: 10_000,
  /** A host is ready while its beat, and its copy of the registry, are no older. */
  readyEngineMillisMax: 2_000,
  readyRegistryMillisMax: 5_000,
  /** A host that stops gives its databases away for so long, before it closes its doors. */
  drainMillisMax: 10_000,
  /** The share of its WebSockets that a host which drains ends at a time, and how often. */
  drainSliceShare: 0.05,
  drainSliceMillis: 1_000,
  /** Databases that a host gives away at once when it drains. */
  movesAtOnceMax: 8,
  /** How long a host that drains tries to find another one for a database, and how often. */
  moveAnywhereMillisMax: 5_000,
  moveAgainMillis: 250,
  /** What one host waits for another one that moves a database, or drains, for it. */
  hostOrderMillisMax: 15_000,
  /** The same, of one that repairs a log. */
  repairMillisMax: 1_800_000,
  /** A leader that cannot go on, and says so, is taken for gone so long: it may find room again. */
  stepDownMillis: 10_000,
  /** A target of a move that does not lead after this long is taken for failed. */
  handOverMillisMax: 1_000,
  /**
   * A host that gives a database away waits so long for long reads and procedures while it serves,
   * then so long while it begins nothing; it looks this often.
   */
  handOverBusyMillisMax: 2_000,
  handOverRestMillisMax: 250,
  handOverLookMillis: 2,
  /** A leader with nothing to write tells followers after this long what is settled. */
  settleMillis: 1_000,
  /**
   * Entries gather for so long before a host that follows takes them; and before they are sent to
   * it.
   */
  followPauseMillis: 10,
  streamGatherMillis: 5,
  /** Names of reducers in the line that says what was set aside of a local log. */
  asideReducersMax: 20,
  /** Sessions of one engine beside those that listen and beat, and statements that wait for one. */
  engineSessionsMax: 6,
  engineWaitersMax: 10_000,
  engineConnectMillisMax: 3_000,
  /** Appends of one host in flight, and bytes of entries that go together. */
  gatheredAppendsMax: 3,
  gatheredBytesMax: 8 * mebibyte,
  /** Confirmations of all databases of a host share a statement, one in this time. */
  confirmEveryMillis: 2,
  /** Heap of the thread that talks to the engine, and its rest after it has died. */
  engineHeapMebibytesMax: 512,
  engineRestMillis: 1_000,
  /** Rows that confirmations write to, one of which each host draws. */
  engineTouchSlots: 256,
  /** Hosts hear of a log that grows after this long; they look this often, too. */
  logNoticeMillis: 10,
  logLookMillis: 1_000,
  /** Rows that a truncation removes at once, and how long it pauses then. */
  truncateSliceRows: 1_000,
  truncatePauseMillis: 20,
  /**
   * Engines in S3-compatible stores: one entry; requests at once, those of beats aside, which have
   * some of their own; time for the head of an answer.
   */
  s3EntryBytesMax: 8 * mebibyte,
  s3RequestsMax: 6,
  s3BeatRequestsMax: 2,
  s3AnswerMillisMax: 10_000,
  /** What is known of the entry before counts so long, and so does an answer to an append. */
  s3KnownMillisMax: 600_000,
  /** A store that is busy with the same object is asked again so often, after up to this long. */
  s3ConflictTriesMax: 10,
  s3ConflictPauseMillis: 50,
  /** Deleted so long after it was marked; a request is signed for 15 minutes. */
  s3DeleteAfterMillis: 7_200_000,
  s3MarksMax: 64,
  s3MarkBytesMax: 16 * kibibyte,
  s3MarkTriesMax: 20,
  /** A host that waits for an entry looks this often; it reads again after this long at most. */
  s3LookMillis: 300,
  s3WaitMillisMax: 10_000,
  /** Entries that are fetched at once: at the end of a log, and where many are there. */
  s3TailReads: 4,
  s3ReadsAtOnceMax: 32,
  /** Ends of logs that are kept, so as not to be sent again; logs of which one is known. */
  s3KeptEndBytesMax: 32 * mebibyte,
  s3KnownLogsMax: 10_000,
  /** What is kept of an entry, to compare it with what a writer names as the one before. */
  s3HeadBytes: 128,
  /** Beats and lease; how often hosts that are new are looked for; the bytes of one row. */
  s3BeatMillis: 1_000,
  s3LeaseMillis: 6_000,
  s3GatherMillis: 25,
  s3HostListMillis: 5_000,
  s3RowBytesMax: 16 * kibibyte,
  /** What a probe left is removed after this long. */
  s3ProbeRestMillis: 3_600_000,
  /** How exact a store's clock is, which it shows in whole seconds; and how far clocks drift. */
  s3ClockSlackMillis: 50,
  s3ClockDriftShare: 0.0002,
  /** Hosts of one cluster, places of databases that they tell each other at once, boxes. */
  clusterHostsMax: 256,
  placeHintsMax: 100_000,
  secretBoxBytesMax: 64 * kibibyte,
  secretBoxNameBytesMax: 128,
  /** A part of a snapshot that hosts share, and names that one look at a store gives. */
  snapshotPartBytes: 8 * mebibyte,
  snapshotNamesMax: 100_000,
  /** How often a leader looks whether entries can go; how long they stay in any case. */
  logKeepLookMillis: 60_000,
  logKeptMillis: 3_600_000,
  /** A host that is behind is waited for so long, and for so much of the log. */
  logBehindMillisMax: 86_400_000,
  logBehindBytesMax: 16 * 1_024 * mebibyte,
  /** Copies of each database, the leader's included, unless its operator says otherwise; most. */
  copiesDefault: 2,
  copiesMax: 64,
  /** A host that was silent for so long gets another one that takes its copies. */
  copyLostMillis: 60_000,
  /**
   * A copy that could not lead for so long, and the time that its bytes take at such a pace, counts
   * no more, and its host is not sent it again for a while.
   */
  copyUnreadyMillisMax: 120_000,
  copyBytesPerSecondMin: 8 * mebibyte,
  copyUnreadyRestMillis: 600_000,
  /** The share of a host's memory that copies may take, and the bytes of one beside its rows. */
  copyMemoryShareMax: 0.8,
  copyModuleBytes: 32 * mebibyte,
  /** Copies that a host is sent at one time: so many are fetched before others are wished. */
  copiesComingMax: 8,
  /** How often the placer looks, and over how long it averages what leaders have to do. */
  placeLookMillis: 2_000,
  loadAverageMillis: 60_000,
  /** How often a host looks what it shall have; and reads the wishes again, unasked: they cost. */
  wishLookMillis: 1_000,
  wishReadMillis: 30_000,
  /** A copy is let go after so many looks at which it was not wished, and the leader was there. */
  letGoLooks: 3,
  /** Databases that `st_cluster` shows. */
  clusterRowsMax: 10_000,
  /** A host has a copy for so long because an operator wants to move the database there. */
  copyAskedMillis: 60_000,
  /** A move that its host has not made after this long is decided again. */
  moveWishedMillis: 30_000,
  /** Leaders move from a host that is this much busier than the mean of all, for so long. */
  hostLoadRatioMax: 1.3,
  hostBusyMillis: 60_000,
  /** Hosts whose leaders are busy for less than this share of the time are left alone. */
  hostLoadMin: 0.01,
  /** One move per host in this time, and none of a database again. */
  hostMoveMillis: 10_000,
  databaseMoveMillis: 600_000,
  /** How often an import says how far it is, and how many reasons against it are shown. */
  importTellMillis: 2_000,
  importConflictsShown: 20,
  /**
   * Changes of one database that are kept for clients that come back: their bytes, and those that
   * are counted for each commit and each of its tables besides.
   */
  resumeBytesMax: 64 * mebibyte,
  resumeCommitBytes: 160,
  /**
   * What one client catches up on; else it reads again: updates of all its sets together, their
   * bytes, commits for each of its queries that are looked at, and the time for all of it.
   */
  resumeUpdatesMax: 8_192,
  resumeAnswerBytesMax: 4 * mebibyte,
  resumeLooksMax: 20_000,
  resumeMillisMax: 250,
} as const;
