const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** The bounds of shared logs and of the clusters on them. Part of `limits.ts`. */
export const clusterLimits = {
  /** One entry of a shared log with its header, unless its engine takes less; and the least. */
  entryBytesMax: 4 * mebibyte,
  entryBytesMin: 64 * kibibyte,
  /** Entries that one `append`, and one `confirm`, can name: one for each database that waits. */
  appendItemsMax: 256,
  /** Bytes of entries that one read of a shared log gives, and how many entries. */
  sharedReadBytesMax: 8 * mebibyte,
  sharedReadEntriesMax: 1_000,
  /** A shared log with more entries is not read whole by a host that has a local log. */
  startSearchEntriesMin: 256,
  /** UTF-8 bytes of a host's name, an address, and of the text that names an engine's past. */
  hostNameBytesMax: 128,
  hostAddressBytesMax: 256,
  engineHistoryBytesMax: 256,
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
  /** The port for links, unless the operator chooses another. */
  clusterPort: 3_001,
  /** Links between hosts: pings, connections, and what one waits for. */
  linkPingMillis: 250,
  linkConnectMillisMax: 3_000,
  linkAnswerMillisMax: 2_000,
  linkAnswerBytesMax: mebibyte,
  /** A kept connection that nobody uses is closed by the sender, and later by the receiver. */
  linkIdleMillisMax: 20_000,
  linkConnectionsMax: 10_000,
  linkSocketsMax: 1_000,
  /** Requests whose bodies are streamed to other hosts at one time, of those. */
  linkStreamsMax: 250,
  linkFreeSocketsMax: 64,
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
  /** A host decides again on a change after this long, whether or not its copy has caught up. */
  registryCopyMillisMax: 5_000,
  /** What a host waits for the registry's leader, and for all others to have a change. */
  registryChangeMillisMax: 10_000,
  registryEverywhereMillisMax: 2_500,
  /** What one host sends another with a question. */
  linkAskBytesMax: 16 * mebibyte,
  /** How often a host decides again on a change, because others have changed the registry. */
  registryTriesMax: 10,
  /** The secret of a cluster. */
  clusterSecretBytesMin: 32,
  clusterSecretFileBytesMax: 4 * kibibyte,
  /** How often a host looks whether a leader is silent, give or take. */
  leaderLookMillis: 250,
  leaderLookSpreadMillis: 50,
  /** How much longer each further candidate waits before it claims. */
  candidateRankMillis: 100,
  candidatesMax: 64,
  /**
   * A clock that is off by so much from the engine's is reported, and keeps a host from claiming;
   * how often a host compares them.
   */
  clockSkewWarnMillis: 500,
  clockSkewClaimMillisMax: 10_000,
  clockLookMillis: 5_000,
  /** A host is ready while its beat, and its copy of the registry, are no older. */
  readyEngineMillisMax: 2_000,
  readyRegistryMillisMax: 5_000,
  /** A host that stops gives its databases away for so long, before it closes its doors. */
  drainMillisMax: 10_000,
  /** Databases that a host gives away at once when it drains. */
  movesAtOnceMax: 8,
  /** A target of a move that does not lead after this long is taken for failed. */
  handOverMillisMax: 1_000,
  /** A leader with nothing to write tells followers after this long what is settled. */
  settleMillis: 1_000,
  /** A host that follows lets entries gather for so long, before it reads them. */
  followPauseMillis: 5,
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
  /** Hosts of one cluster, places of databases that they tell each other at once, boxes. */
  clusterHostsMax: 256,
  placeHintsMax: 100_000,
  secretBoxBytesMax: 64 * kibibyte,
  secretBoxNameBytesMax: 128,
} as const;
