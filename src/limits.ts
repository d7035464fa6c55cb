import * as shared from './shared-limits.ts';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/**
 * Every queue, buffer, body and recursion has its bound here, with its unit in its name.
 * How they have to fit each other is in `limits.test.ts`. Bounds that the client
 * library needs too come from `shared-limits.ts`: this file would go into every page as a whole.
 */
export const limits = {
  ...shared,
  /** One encoded row. */
  rowBytesMax: 32 * mebibyte,
  /** One encoded value that a call returns or refuses with. */
  callResultBytesMax: 4 * mebibyte,
  /** One row of a computed system table; pages have 26 bits for the length of a row. */
  systemRowBytesMax: 2 ** 26 - 1,
  /** Kinds of callers for whom the rows of one system table are kept. */
  systemTableAudiencesMax: 64,
  /** Parts (primitives, products, sums, arrays) of one type with its references written out. */
  typePartsMax: 65_536,
  /** Columns of one table. */
  columnCountMax: 1024,
  /** Filters of row-level security of one module. */
  rowFilterCountMax: 1024,
  /** One page of the store; larger rows get a page of their own. */
  pageBytes: mebibyte,
  /** Calls waiting in one database before new ones are refused as overloaded. */
  callQueueMax: 16_384,
  /** How many of them may come from clients that stay connected; what they send more waits. */
  feedQueueMax: 12_288,
  /** How many of these may be of one of them, so that the others need not wait for more. */
  feedShareMax: 1_024,
  /** Calls run in one turn, that is, between two syncs. */
  callsPerTurnMax: 4_096,
  /** Calls that are not divided into several turns; of more, each turn takes that part. */
  callsPerTurnMin: 128,
  turnsOfQueue: 4,
  /** Wall-clock time of one turn before it syncs and yields, however many calls wait. */
  turnMillisMax: 20,
  /** Wall-clock time of one reducer call. */
  callMillisMax: 10_000,
  /** After which a call that still runs is put behind all others for the processors. */
  longCallMillis: 100,
  /**
   * Wall-clock time that a worker may leave messages unread outside of any call, starting included.
   * Not the limit of a call: a short one must not end a thread that is slow to start.
   */
  silenceMillisMax: 10_000,
  /** Time in which the process of a database must get on with a write, however slow the disk is. */
  writeMillisMax: 60_000,
  /** Time for which requests, or commits that are not durable, may wait in a healthy database. */
  healthWaitMillisMax: 5_000,
  /** The same of updates for a client: a client that is gone is waited for nearly as long. */
  healthFanOutMillisMax: 40_000,
  /** For how long one look at a database answers anyone who asks whether it is well. */
  healthKeptMillis: 100,
  /** Between two attempts to open a database whose disk has failed; it doubles each time. */
  reopenMillisMin: 1_000,
  reopenMillisMax: 30_000,
  /** Databases that open when the service starts although nobody asked for them yet. */
  startDatabasesMax: 4,
  /** A log with more is large: such logs never take every place where databases open. */
  smallLogBytesMax: 16 * mebibyte,
  /** Requests that wait for one database that opens, and for how long. */
  openingRequestsMax: 1_024,
  openingWaitMillisMax: 30_000,
  /** After which those that waited in vain are asked to try again. */
  openingRetrySecondsMin: 1,
  openingRetrySecondsMax: 30,
  /** Between two lines in the log of the service about one database that opens. */
  openingReportMillis: 5_000,
  /** Between two looks whether a full disk has space again, and how much of it is enough. */
  spaceLookMillis: 1_000,
  spaceBytesMin: 4 * mebibyte,
  /** Between two marks, beside a log that is written to, of what is durable. */
  durableMarkMillis: 1_000,
  /** Between two looks of a database that writes at who may write to its data folder. */
  writerCheckMillis: 1_000,
  /** Within which the service before has looked, where no lock says that it has ended. */
  writerWaitMillis: 3_000,
  /** Of the command that asks the kernel for the lock of a folder; it never waits for it. */
  lockCommandMillisMax: 5_000,
  /** One message between the gateway and the process of a database. */
  workerFrameBytesMax: 1024 * mebibyte,
  /**
   * A structured value in a message from the process of a database, such as the definition of its
   * module. The gateway reads it at once, and it can take a hundred times as much memory.
   */
  workerStructuredBytesMax: 8 * mebibyte,
  /**
   * Bytes that such a process has written and the gateway has not read; with more it takes no
   * further turn.
   */
  workerWaitingBytesMax: 32 * mebibyte,
  /**
   * Time for which the gateway reads messages of one such process before it sees to others, and,
   * where it had asked for nothing, for how many times as long it then leaves them.
   */
  workerSliceMillisMax: 5,
  workerUnaskedRest: 4,
  /** Warnings of one database for the log of the service; further ones are counted. */
  workerWarningsPerMinute: 60,
  /** Messages of such a process about sizes, or about how far opening is. */
  workerReportsPerSecond: 10,
  /** A stall of the gateway after which all that such a process sent meanwhile is still read. */
  workerStallMillisMax: 600_000,
  /** Large results, rows and programs in one such message. */
  workerBlobsMax: 2 ** 19,
  /** Programs that a database may ask to be linked while it starts; later, one for each update. */
  startLinksMax: 2,
  /** By how much the memory ceiling of a process rises when the rows of its database grow. */
  ceilingStepBytes: 1024 * mebibyte,
  /** Time in which the spawner answers a request; one that does not is replaced. */
  spawnerMillisMax: 20_000,
  /** Spawners that may end while they start one process, before that counts as failed. */
  spawnAttemptsMax: 3,
  /** Wall-clock time of loading a program, describing it and running `init`. */
  publishMillisMax: 60_000,
  /**
   * JavaScript heap that a module may keep from call to call, with that of its worker, in
   * mebibytes.
   */
  workerHeapMebibytesMax: 256,
  /**
   * The platform's own heap limit of a thread, above what its module may keep. It is no defence:
   * when one allocation passes it (an array or a map that doubles), the platform ends the whole
   * process. So it stands where the watchdog and the bounds of statements always come first.
   */
  workerHeadroomMebibytes: 4_096,
  /** Memory, heap or buffers, that one call may hold beyond what its database held before it. */
  callBufferBytesMax: 512 * mebibyte,
  /**
   * Wall-clock time that a thread may take to say how much memory it holds, before it counts as one
   * that is inside of a built-in function.
   */
  memorySilenceMillisMax: 80,
  /** One buffer, or typed array, of a module. */
  moduleBufferBytesMax: 256 * mebibyte,
  /** Elements of a list, or characters of a text, that one built-in walks for a module. */
  moduleElementCountMax: 2 ** 25,
  /** Pieces that a module's text is split into. */
  modulePieceCountMax: 2 ** 24,
  /**
   * The same for what costs more for each: keys of a list, code and patterns made from text, texts
   * compared or changed by the rules of a language.
   */
  moduleSlowCountMax: 2 ** 22,
  /** Steps, at worst, of looking for a long text in another: the product of their lengths. */
  moduleSearchStepsMax: 2 ** 36,
  /**
   * What a module makes between two looks at whether it shall stop, in units of the longest number
   * (128 MiB).
   */
  moduleStretchWeightMax: 16,
  /** Elements that make a function too long for the engine to put it in the place of its calls. */
  modulePauseElementCount: 400,
  /** Characters of one regular expression: nothing interrupts its translation. */
  modulePatternLengthMax: 2 ** 16,
  /** One program as published: a row of `st_module` holds it. */
  programBytesMax: 64 * mebibyte - 4 * kibibyte,
  /** Brackets of a program within each other: parsers recurse. */
  programNestingMax: 1_000,
  /** A program as it is linked: its script, and the source map of that. */
  linkedScriptBytesMax: 192 * mebibyte,
  linkedMapBytesMax: 96 * mebibyte,
  /** Linkers that work at once; programs above the size of a small one have one of them at most. */
  linkersMax: 2,
  smallProgramBytesMax: mebibyte,
  /** Memory and wall-clock time of linking one program, and of a small one. */
  linkMebibytesMax: 1_536,
  linkMillisMax: 60_000,
  smallLinkMebibytesMax: 768,
  smallLinkMillisMax: 30_000,
  /** How often the memory of a linker is looked at. */
  linkLookMillis: 50,
  /** Programs that wait for a linker, and their bytes; more are refused for now. */
  linkQueueMax: 256,
  linkQueueBytesMax: 256 * mebibyte,
  /** Small programs that were linked last, as they are kept in memory. */
  recentLinksBytesMax: 8 * mebibyte,
  /** Small programs that one linker links before it is replaced, and how long it waits for one. */
  linkerProgramsMax: 256,
  linkerIdleMillisMax: 60_000,
  /** What the doc comments of a program say, as it carries them. */
  programDocsBytesMax: 256 * kibibyte,
  /** One such text; a longer one is cut, because agents pay for each word. */
  docTextCharactersMax: 2_000,
  /** One segment of the commit log. */
  segmentBytes: 64 * mebibyte,
  /** Pieces of a forked log that are looked at one by one, and how many of them are shown. */
  repairPiecesMax: 2 ** 18,
  repairTailsMax: 16,
  /** One record of the commit log. */
  recordBytesMax: 512 * mebibyte,
  /** An HTTP body of `call`, `sql`, `names` and MCP. */
  bodyBytesMax: 2 * mebibyte,
  /** The text of one SQL statement. */
  sqlBytesMax: 50_000,
  /** Parentheses around one SQL expression. */
  sqlParenthesesMax: 47,
  /** Terms of one AND/OR chain. */
  sqlChainTermsMax: 1_600,
  /** Levels of one SQL statement as a tree, in which an AND/OR chain is one: stages recurse. */
  sqlDepthMax: 500,
  /** Levels of one SQL statement through the common tables that name each other. */
  sqlTypedDepthMax: 1_200,
  /** Relations of one SQL statement, those of its subqueries and row filters included. */
  sqlRelationsMax: 512,
  /** Expressions of one SQL statement, where some stand for several: `x BETWEEN a AND b`. */
  sqlExpressionsMax: 100_000,
  /** Prepared SQL statements that a database keeps, and the longest text of one. */
  sqlCachedStatementsMax: 512,
  sqlCachedTextLengthMax: 4_096,
  /** Wall-clock time of a part of an SQL statement that cannot pause: a subquery for one row. */
  sqlStallMillisMax: 250,
  /** Characters of a text that a function of SQL makes. */
  sqlTextCharactersMax: 2 ** 20,
  /** Work on one row, counted in rows: what cannot be interrupted ends there. */
  sqlRowWorkMax: 2 ** 20,
  /** Steps, at worst, of matching one text with `_`: the product of text and pattern. */
  sqlMatchStepsMax: 2 ** 26,
  /** Characters of a pattern of LIKE. */
  sqlPatternCharactersMax: 2 ** 17,
  /** Rows that one SQL statement may return. */
  sqlResultRowsMax: 1_000_000,
  /** Bytes of encoded rows that one SQL statement may return. */
  sqlResultBytesMax: 256 * mebibyte,
  /** Memory that one SQL statement may take beside its result: to sort, to group, to join. */
  sqlMemoryBytesMax: 256 * mebibyte,
  /**
   * Memory that a write may take with what writing will: what it has found, its result, and copies
   * of the rows that come (page, change set, log record) and go (the last two). Less than one call
   * may take, so that the statement is refused before its database is ended.
   */
  sqlWriteBytesMax: 384 * mebibyte,
  /**
   * Memory of reads under way, paused ones and results included: of one caller (all anonymous ones
   * are one), and of one database.
   */
  sqlCallerMemoryBytesMax: 512 * mebibyte,
  sqlDatabaseMemoryBytesMax: 768 * mebibyte,
  /** What each of them may take without being counted there, and the steps of what is counted. */
  sqlUncountedBytes: mebibyte,
  /**
   * Results of views, one for each caller that asked, kept in one database: fewer than there may be
   * connections, since each takes memory without any rows. Subscribers beyond are refused.
   */
  viewInstancesMax: 4_096,
  /** Memory of those results, with their indexes and what is known of what they rest on. */
  viewBytesMax: 128 * mebibyte,
  /** Bytes of encoded rows that one evaluation of a view may return. */
  viewResultBytesMax: 64 * mebibyte,
  /** Time for which the result of a view is kept fresh after its last use. */
  viewIdleMillisMax: 600_000,
  /** Keys that one evaluation of a view may look up before it counts as having read the table. */
  viewKeysMax: 1_024,
  /** Bytes of one such key. */
  viewKeyBytesMax: 1_024,
  /** Wall-clock time that reads which have paused may go on in one turn, all of them together. */
  readSliceMillisMax: 5,
  /** Rows that an SQL write looks at before it may pause, to look at more between the turns. */
  writeRowsInOneGo: 20_000,
  /** Rows that others may write while it looks without it having to look at all of them again. */
  writeLaterRowsMax: 20_000,
  /** Times that it is interrupted by others before it looks at all rows in one go. */
  writeSlicedRunsMax: 2,
  /**
   * SQL reads of one database that have paused and go on between the turns; each keeps its tables.
   */
  longReadsMax: 8,
  /** How many of these may be of one caller, and of all but the owner. */
  callerLongReadsMax: 4,
  othersLongReadsMax: 6,
  /** SQL writes of one database that have paused: one goes on, the others wait. Of one caller. */
  longWritesMax: 32,
  callerLongWritesMax: 16,
  /** Query sets of one database whose first rows are read in slices at once; others are not. */
  pausedSetsMax: 8,
  /** Memory that is kept for paused reads because rows that they see were deleted meanwhile. */
  sqlHeldBytesMax: 256 * mebibyte,
  /** Rows of changes that a preview shows, of all tables together, and their bytes. */
  previewRowsMax: 10_000,
  previewRowBytesMax: 4 * mebibyte,
  /** Log lines that a preview shows, and their characters. */
  previewLinesMax: 1_000,
  previewLineCharactersMax: 256 * kibibyte,
  /** What one line of a module log says. */
  logLineBytesMax: 64 * kibibyte,
  /** Each other text of such a line: the names of a file, of a function, of a frame of a trace. */
  logNameCharactersMax: 1_024,
  /** Frames of one trace. */
  traceFramesMax: 30,
  /** Lines of a module's log that go to the gateway together, and their memory. */
  logBatchLinesMax: 256,
  logBatchBytesMax: mebibyte,
  /** Time for which a line may wait for others. */
  logBatchMillisMax: 50,
  /** A source map that is read at all, and what is read of one: sources, lines, positions. */
  sourceMapCharactersMax: 16 * mebibyte,
  sourceMapSourcesMax: 65_536,
  sourceMapLinesMax: 2 ** 20,
  sourceMapSegmentsMax: 2 ** 21,
  /** What is wrong with a program, as its publisher reads it. */
  programErrorCharactersMax: 64 * kibibyte,
  /** One sentence in the log of the service. */
  reportCharactersMax: 4 * kibibyte,
  /** Lines that one module logs in the long run; more are counted and dropped. */
  moduleLogLinesPerSecondMax: 5_000,
  /** After it was quiet, it may log as much at once as in this time. */
  moduleLogBurstSeconds: 10,
  /** The log of one module and day. */
  moduleLogFileBytesMax: 128 * mebibyte,
  /** Days, today among them, whose logs are kept. */
  moduleLogDaysMax: 14,
  /** Log lines of one call; further ones are counted and dropped. */
  logLinesPerCallMax: 10_000,
  /** Lines of a module log sent before a follower starts to follow, and their bytes. */
  logTailLinesMax: 2_500,
  logTailBytesMax: 4 * mebibyte,
  /** Log lines held for one slow follower; with more characters only those that came together. */
  logFollowerLinesMax: 1_024,
  logFollowerCharactersMax: 4 * mebibyte,
  /** How many of them it is handed, or loses, together. */
  logFollowerLinesAtOnce: 128,
  /** Iterators over rows, and console timers, that one call may have open. */
  openIteratorsMax: 4_096,
  openTimersMax: 256,
  /**
   * Databases of one identity that is no operator, and those created from one address, where the
   * policy lets strangers publish.
   */
  strangerDatabasesMax: 10,
  addressDatabasesMax: 100,
  /** Names of them, those included that stand for no database, or for none any more. */
  strangerNamesMax: 100,
  addressNamesMax: 1_000,
  /** Time after which what all databases of an owner hold is added up again. */
  quotaSumMillis: 100,
  /** A database name. */
  databaseNameLengthMax: 64,
  /** `iss` and `sub` of a token. */
  tokenClaimBytesMax: 128,
  /** Tokens whose signature was checked, remembered so that it is not checked at every request. */
  verifiedTokensMax: 4_096,
  /** How often it is looked whether the TLS certificate was renewed. */
  certificateLookMillis: 2_000,
  /** Requests of one identity; more are refused with 429, but on loopback. */
  identityRequestsPerSecondMax: 1_000,
  /** Requests from one address. */
  addressRequestsPerSecondMax: 2_000,
  /** HTTP requests whose answer has not begun. */
  requestsMax: 5_000,
  /** Bytes of their bodies, all together. One client takes at most as much as it leaves. */
  bodiesBytesMax: 256 * mebibyte,
  /** Answers of all requests that wait for slow clients, and from which size on they count. */
  answersBytesMax: 1024 * mebibyte,
  largeAnswerBytesMin: 64 * kibibyte,
  /** A part of such an answer that is written in one go. */
  answerPieceCharacters: 64 * kibibyte,
  /** Time without a byte of a body that is still coming. */
  bodyIdleMillisMax: 30_000,
  /** Of a body that is read at once; the rest comes in pieces, with those of others in turn. */
  bodyBytesAtOnceMax: 64 * kibibyte,
  /** Of a body that nobody wants: what is read so that the connection can be used again. */
  refusedBodyBytesMax: 256 * kibibyte,
  /** Time in which a client that still sends can read its answer before the connection ends. */
  lingerMillisMax: 1_000,
  /** Open connections from one address. */
  addressConnectionsMax: 1_000,
  /** Identities, or addresses, whose rate is known. */
  rateBucketsMax: 65_536,
  /** Refused requests that are noted in the audit log. */
  auditRefusalsPerMinuteMax: 600,
  /** Identities whose balance of energy is remembered. */
  energyBalancesMax: 4_096,
  /** What is read of the newest file of the audit log at a start, from its end. */
  auditLookBytes: mebibyte,
  /** Lines of the audit log of a host that keeps everything in memory. */
  auditMemoryLinesMax: 10_000,
  /** Lines of the audit log in one answer. */
  auditTailLinesMax: 10_000,
  /** Roles that are granted in one database. */
  databaseGrantsMax: 1_024,
  /** Limited tokens of one database that are neither expired nor revoked. */
  databaseTokensMax: 1_024,
  /** Revoked tokens that are remembered before bearers can give up no more of theirs. */
  revokedTokensMax: 100_000,
  /** Tokens that one address gives up where rates are limited: in an hour, and at once. */
  givenUpTokensPerHour: 60,
  /** Tables, or reducers, that one token may name. */
  capabilityNamesMax: 256,
  /** Earlier keys of a host that still verify: each is tried with every token that fails. */
  oldKeysMax: 16,
  /** Keys that were retired whose fingerprints are kept: data may still remember one as its own. */
  retiredKeysMax: 64,
  /** Foreign issuers whose keys are kept. */
  issuersMax: 256,
  /** Issuers that are asked for their keys at once: whoever sends a token chooses whom to ask. */
  issuerFetchesMax: 16,
  /** Names of issuers that are looked up at once; each may take the system a minute. */
  issuerLookupsMax: 32,
  /** Keys in the set of an issuer: every one of them may be tried for a token. */
  issuerKeysMax: 64,
  /** Time for one document of an issuer, redirects included. */
  issuerMillisMax: 5_000,
  /** One document of an issuer. */
  issuerDocumentBytesMax: mebibyte,
  /** Redirects to it. */
  issuerRedirectsMax: 3,
  /** Reducers that are tools of their own; agents lose their way, and their memory, among more. */
  reducerToolsMax: 64,
  /** Their descriptions and schemas together, with which the list ends too. */
  reducerToolsCharactersMax: 131_072,
  /** The schema of the arguments of one, and the types that it is made of; beyond, it says less. */
  reducerSchemaCharactersMax: 16_384,
  reducerSchemaTypesMax: 2_048,
  /** Requests of an agent that the MCP bridge has under way at once. */
  bridgeRequestsMax: 16,
  /** Messages that it has under way or in wait, streams that stay open included. */
  bridgeMessagesMax: 256,
  /** Streams among them that stay open: they hold no place of a request. */
  bridgeStreamsMax: 64,
  /** Length of all messages beyond which it takes no further one for a while. */
  bridgeBytesMax: 32 * mebibyte,
  /** One message of an agent: twice what a service takes, so that it is the one to refuse. */
  bridgeLineBytesMax: 4 * mebibyte,
  /** One answer of a service to it. */
  bridgeAnswerBytesMax: 64 * mebibyte,
  /** What is told of an answer that is none, such as the page of a proxy. */
  bridgeErrorCharactersMax: 4_096,
  /** Time without any answer, once the agent has ended its input, until it gets errors. */
  bridgeEndMillisMax: 30_000,
  /** MCP requests of one caller that are under way at once, and streams that tell of changes. */
  mcpRequestsMax: 512,
  mcpListenStreamsMax: 32,
  /** Messages of one batch. */
  mcpBatchMax: 50,
  /** The id of a request, as JSON, and the token that its progress is told with. */
  mcpIdCharactersMax: 1_024,
  /** Entries of a page of tools, resources, templates or prompts. */
  mcpPageItemsMax: 200,
  /** Values of one completion. */
  mcpCompletionValuesMax: 100,
  /** Messages that wait for one slow reader of a stream. */
  mcpMessagesWaitingMax: 256,
  /** Messages about the progress of one request. */
  mcpProgressPerSecondMax: 20,
  /** Time after which a client that reads a stream gets a sign of life. */
  mcpQuietMillisMax: 10_000,
  /** Times that a client may be asked in the middle of one request. */
  mcpRoundsMax: 32,
  /** Time for which a client may answer what it was asked in the middle of a request. */
  mcpStateMillisMax: 600_000,
  /** Resources that an agent is listed; it reaches the others by their addresses. */
  agentResourcesListedMax: 2_000,
  /** Rows of a table, and lines of a log, that a resource shows, and the length of its text. */
  resourceRowsMax: 1_000,
  resourceLogLinesMax: 500,
  resourceCharactersMax: 256 * kibibyte,
  /** What a prompt shows of a schema, of a log, and of each other list. */
  promptSchemaCharactersMax: 64 * kibibyte,
  promptLogLinesMax: 50,
  promptListCharactersMax: 32 * kibibyte,
  /** Resources that an agent watches with one request. */
  watchedResourcesMax: 100,
  /** Time between two notices of one watch. */
  watchNoticeMillis: 250,
  /** Time after which what was watched and is lost is looked for again; longer each time. */
  watchRetryMillisMin: 1_000,
  watchRetryMillisMax: 60_000,
  /** Time between two notices that a tool of an agent still runs. */
  agentProgressSeconds: 5,
  /** Rows of one answer of an MCP tool; the rest comes by a cursor. */
  agentRowsMax: 10_000,
  /** Text of those rows. */
  agentTextBytesMax: mebibyte,
  /** Running time that an agent may give a statement, if the service's own bound allows it. */
  agentStatementMillisMax: 600_000,
  /** Results of statements whose rest is kept for agents: together, and of one caller. */
  cursorsMax: 256,
  callerCursorsMax: 16,
  /** Encoded rows of one such rest, and of all together. */
  cursorBytesMax: 16 * mebibyte,
  cursorsBytesMax: 64 * mebibyte,
  /** Time for which a rest is kept after it was last asked for. */
  cursorMillisMax: 300_000,
  /** Lines of a module log that one answer of the MCP tool has, and that it looks through. */
  agentLogLinesMax: 1_000,
  agentLogScanLinesMax: 10_000,
  agentLogScanBytesMax: 8 * mebibyte,
  /** Previews that an agent may still apply: of all callers, and of one. */
  previewsMax: 256,
  callerPreviewsMax: 32,
  /** What is kept of one for that, its arguments above all, and of all together. */
  previewBytesMax: 4 * mebibyte,
  previewsBytesMax: 64 * mebibyte,
  /** Time for which a preview is kept. */
  previewMillisMax: 600_000,
  /** Rows of changes that an answer to an agent shows of one preview. */
  agentPreviewRowsMax: 200,
  /** Characters of a JSON text beyond which it is read in slices. */
  wholeTextCharactersMax: 16 * kibibyte,
  /** Time that the gateway works on such texts, all together, before it sees to others. */
  sliceMillisMax: 2,
  /**
   * Connections that wait to be taken, if the system allows as many. One that finds no room tries
   * again after a second, then after longer.
   */
  backlogMax: 4_096,
  /** Off loopback; see `service/listener-copies.ts`. */
  connectionsAtOnce: 8,
  /**
   * Time for which a connection stays open without a request. More than what proxies and load
   * balancers wait (60 s): one that sends a request at the moment of the end would have it reset.
   */
  idleConnectionMillisMax: 75_000,
  /**
   * When no more than this part of all connections is free, those without a request are closed, and
   * how often at most they are looked for.
   */
  connectionsKeptFreePart: 16,
  idleLookMillis: 100,
  /** Headers of one request, its first line included. */
  headerBytesMax: 16 * kibibyte,
  /** How often it is looked for requests that take too long to arrive. */
  slowRequestLookMillis: 1_000,
  /** Time for a request's headers to arrive. */
  headerMillisMax: 15_000,
  /** Time for a whole request, body included, to arrive. */
  requestMillisMax: 300_000,
  /** One message of a client over a WebSocket, put together from its frames. */
  socketMessageBytesMax: 32 * mebibyte,
  /** Commas, colons and opening brackets in one message of a client that is JSON. */
  socketTextPartsMax: 65_536,
  /** Parts of the arguments in such a message, as many as the largest HTTP body can have. */
  socketArgumentPartsMax: 2 ** 20,
  /** Query sets of one connection. */
  connectionSetsMax: 16_384,
  /** Characters of all queries of one subscription: they are checked before any is accepted. */
  querySetCharactersMax: 2 ** 20,
  /** Wall-clock time of one commit's live queries after which none of them reads a whole table. */
  liveScanMillisMax: 1_000,
  /** First rows handed out again in one turn; each copy of them goes to another thread. */
  sharedRowsBytesMax: 16 * mebibyte,
  /** Memory of the different queries that one database watches at once, about. */
  liveQueryBytesMax: 160 * mebibyte,
  /** How much of it may be for queries of one identity that does not own the database. */
  liveIdentityBytesMax: 32 * mebibyte,
  /**
   * Wall-clock time for which tables are read again for the live queries of one identity, as long
   * as it comes back slowly; for those of all together twice as much.
   */
  liveRereadMillisMax: 1_000,
  /** Messages of one client of a WebSocket that wait to be processed; more end its connection. */
  socketMessagesInMax: 16_384,
  /** Bytes of such messages beyond which nothing more is read from the client for a while. */
  socketBytesInMax: 4 * mebibyte,
  /** Messages for one client that are not written yet; more end its connection. */
  socketMessagesOutMax: 16_384,
  /** Bytes of such messages: two of the largest answers fit. */
  socketBytesOutMax: 512 * mebibyte,
  /** The same for all clients of the service together; the one with the most is given up. */
  socketsBytesOutMax: 1024 * mebibyte,
  /** Bytes from which on the body of a message is compressed, for clients that ask for it. */
  socketCompressBytesMin: kibibyte + 1,
  /** Time between two pings, and after which a silent client is dropped. */
  socketPingMillis: 15_000,
  socketIdleMillis: 30_000,
  /** Time that a client has to answer a close. */
  socketCloseMillis: 250,
  /** Connections that the service holds at once, and the share of them that may be WebSockets. */
  connectionsMax: 10_000,
  socketsShareMax: 0.9,
  /** Open files without which a service does not start, and those that clients leave alone. */
  descriptorsMin: 200,
  descriptorsKept: 120,
  /** Between two lines in the service log that say that clients find none. */
  descriptorReportMillis: 60_000,
  /** Time for accepted work to finish when the service stops. */
  shutdownMillisMax: 20_000,
  /** Time that databases have to end, however long requests kept them. */
  closeMillisMin: 5_000,
} as const;

/**
 * Memory that all statements of one database may hold at the same moment: those under way, what
 * each of these may take uncounted, and one that runs in one go, with its result: a write, the
 * query of a view, or a live query that reads again.
 */
export const statementBytesMax =
  limits.sqlDatabaseMemoryBytesMax +
  (limits.longReadsMax + 2) * limits.sqlUncountedBytes +
  limits.sqlMemoryBytesMax +
  limits.sqlResultBytesMax;
