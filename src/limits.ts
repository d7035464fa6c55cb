import { agentLimits } from './agent-limits.ts';
import { backupLimits } from './backup-limits.ts';
import { clusterLimits } from './cluster-limits.ts';
import { consoleLimits } from './console-limits.ts';
import { devLimits } from './dev-limits.ts';
import { handlerLimits } from './handler-limits.ts';
import { historyLimits } from './history-limits.ts';
import { insideLimits } from './inside-limits.ts';
import { migrationLimits } from './migration-limits.ts';
import { outboundLimits } from './outbound-limits.ts';
import { scheduleLimits } from './schedule-limits.ts';
import * as shared from './shared-limits.ts';
import { siteLimits } from './site-limits.ts';
import { sqlLimits } from './sql-limits.ts';
import { transferLimits } from './transfer-limits.ts';
import { vectorLimits } from './vector-limits.ts';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/**
 * Every queue, buffer, body and recursion has its bound, with its unit in its name; how they relate
 * is asserted in `limits.test.ts`. Other files list those of one subject each.
 */
export const limits = {
  ...shared,
  ...agentLimits,
  ...consoleLimits,
  ...siteLimits,
  ...handlerLimits,
  ...outboundLimits,
  ...scheduleLimits,
  ...historyLimits,
  ...insideLimits,
  ...backupLimits,
  ...clusterLimits,
  ...transferLimits,
  ...migrationLimits,
  ...vectorLimits,
  ...sqlLimits,
  ...devLimits,
  /** One encoded row. */
  rowBytesMax: 32 * mebibyte,
  /** One encoded value that a call returns or is refused with. */
  callResultBytesMax: 4 * mebibyte,
  /** One row of a computed system table; pages have 26 bits for the length of a row. */
  systemRowBytesMax: 2 ** 26 - 1,
  /** Kinds of callers for whom the rows of one system table are kept. */
  systemTableAudiencesMax: 64,
  /** Parts (primitives, products, sums, arrays) of one type with its references expanded. */
  typePartsMax: 65_536,
  /** Columns of one table. */
  columnCountMax: 1024,
  /** Rows of each table that a plan of a publish shows before and after. */
  trialSamplesMax: 3,
  /** Bytes of a row that it shows; longer ones are left out. */
  trialSampleBytesMax: 16 * kibibyte,
  /** Row-level security filters of one module. */
  rowFilterCountMax: 1024,
  /** Values of the configuration of one database, and the UTF-8 bytes of one of them. */
  envNamesMax: 256,
  envValueBytesMax: 65_536,
  /** Bytes of values that one database sets: at once, and a second, beside so many for each. */
  envBytesAtOnceMax: 32 * mebibyte,
  envBytesPerSecond: 4 * kibibyte,
  envChangeBytes: 256,
  /** Time that a change waits for the process of its database to notice it. */
  envSeenMillisMax: 5_000,
  /** Bytes of JSON for the values that come with a program as it is published. */
  publishEnvBytesMax: 4 * mebibyte,
  /** Deploys of one database that are listed, and programs of them that can be put back. */
  deploysListedMax: 100,
  deployProgramsKeptMax: 10,
  /** UTF-8 bytes of a deploy's message, and of its plan as it is listed. */
  deployMessageBytesMax: 1_024,
  deployPlanBytesMax: 16 * kibibyte,
  /** Seconds for which a canary is watched, and how often a roll back that fails is tried again. */
  canarySecondsMax: 3_600,
  canaryRollbackTriesMax: 60,
  /** Calls from which on a canary is judged. */
  canaryCallsMin: 50,
  /** Share of failed calls above which it is rolled back, and by how many times p99 may grow. */
  canaryFailedShareMax: 0.05,
  canaryP99TimesMax: 10,
  /** The time before a publish with which its canary is compared, looked at in so many parts. */
  canaryBeforeMillis: 60_000,
  canaryBeforeParts: 6,
  /** One page of the store; larger rows get a page of their own. */
  pageBytes: mebibyte,
  /** Calls queued in one database before new ones are rejected as overloaded. */
  callQueueMax: 16_384,
  /** How many of them can come from connected clients; what these send beyond that waits. */
  feedQueueMax: 12_288,
  /** How many of those one client can have, so that the others do not wait behind it. */
  feedShareMax: 1_024,
  /** Calls run in one turn, that is, between two syncs. */
  callsPerTurnMax: 4_096,
  /** Queues up to this length run in one turn; of a longer one, each turn takes a part. */
  callsPerTurnMin: 128,
  turnsOfQueue: 4,
  /** Wall-clock time of one turn before it syncs and yields, however many calls wait. */
  turnMillisMax: 20,
  /** Wall-clock time of one reducer call. */
  callMillisMax: 10_000,
  /** Procedures in flight in one database, and of one caller. */
  proceduresMax: 1_024,
  callerProceduresMax: 64,
  /** Wall-clock time for which one transaction of a procedure may hold up its database. */
  procedureTransactionMillis: 1_000,
  /** Time in which a read of a procedure must end, or else it goes on beside the turns. */
  procedureReadMillis: 1,
  /** Wall-clock time of one procedure. */
  procedureMillisMax: 600_000,
  /** Calls of one lane that wait for something, and what one call can wait for at once. */
  laneCallsMax: 256,
  callOperationsMax: 1_024,
  /** Lanes, each a thread that runs procedures: of one database, and of the whole service. */
  databaseLanesMax: 4,
  hostLanesMax: 16,
  /** Time for which a database keeps a lane that is not idle while others wait for one. */
  laneKeptMillis: 1_000,
  /** Time without work after which a lane ends. */
  laneIdleMillisMax: 60_000,
  /** Time that a database waits for the next question of a lane that it has just answered. */
  laneLingerMillis: 0.05,
  /** For how long one turn goes on serving lanes that ask again at once. */
  laneTurnMillisMax: 1,
  /** Time in which the thread of a lane ends that is to end, or else its process is ended. */
  laneEndMillisMax: 5_000,
  /** Time that procedures have to end when their database closes. */
  procedureStopMillis: 10_000,
  /** Run time after which a call is scheduled behind all others for the processors. */
  longCallMillis: 100,
  /**
   * Time that a worker may leave messages unread outside of any call, in which it had a processor
   * or wanted none. Not the limit of a call: a short one must not end a thread that is slow. On a
   * busy machine, and while the worker starts, up to this many times as much may pass.
   */
  silenceMillisMax: 10_000,
  silenceWaitFactor: 5,
  /** Time for the process of a database to make progress on a write, however slow the disk is. */
  writeMillisMax: 60_000,
  /** Time for which requests, or commits that are not durable, can wait in a healthy database. */
  healthWaitMillisMax: 5_000,
  /** Time for which updates can wait for a client: an absent one is waited for nearly as long. */
  healthFanOutMillisMax: 40_000,
  /** Time for which a scheduled run can be due and not begun in a healthy database. */
  healthScheduleMillisMax: 10_000,
  /** For how long one health reading of a database is reused for everyone who asks. */
  healthKeptMillis: 100,
  /** Attempts to remove a folder that is still in use; the delay before each grows by that. */
  removalTriesMax: 8,
  removalRetryMillis: 50,
  /** Delay between two attempts to open a database whose disk has failed; it doubles each time. */
  reopenMillisMin: 1_000,
  reopenMillisMax: 30_000,
  /** Ends of processes during the same scheduled run, killed from outside, before it has failed. */
  scheduledKillsMax: 3,
  /** Interval between two looks at the clock while a scheduled run is waited for. */
  alarmMillisMax: 5_000,
  /** Databases that open when the service starts although no request needs them yet. */
  startDatabasesMax: 4,
  /** Time without use after which a database sleeps, and the shortest that can be chosen. */
  sleepAfterMillis: 600_000,
  sleepAfterMillisMin: 1_000,
  /** How often the service looks which databases nobody uses, and which have a run to come. */
  sleepLookMillis: 1_000,
  /** Databases that fall asleep at the same time, and those that are woken for their schedules. */
  fallingAsleepMax: 4,
  scheduledWakesMax: 4,
  /** Time that a database is expected to take to open at least, and to spare beside that. */
  wakeMillisMin: 500,
  wakeSpareMillis: 2_000,
  /** How long before it is due a database is woken at most, however many are due then. */
  wakeAheadMillisMax: 60_000,
  /** The file beside the log of a database that sleeps. */
  sleepMarkBytesMax: 4 * kibibyte,
  /** How many smaller logs that came later open before one that waits for its place. */
  startOvertakesMax: 16,
  /** A larger log is a large one; large logs never take every place where databases open. */
  smallLogBytesMax: 16 * mebibyte,
  /** Requests that wait for one opening database, and for how long. */
  openingRequestsMax: 1_024,
  openingWaitMillisMax: 30_000,
  /** Delay after which requests that timed out are asked to try again. */
  openingRetrySecondsMin: 1,
  openingRetrySecondsMax: 30,
  /** Interval between two lines in the service log about one opening database. */
  openingReportMillis: 5_000,
  /** Interval between two checks whether a full disk has space again, and how much is enough. */
  spaceLookMillis: 1_000,
  spaceBytesMin: 4 * mebibyte,
  /** Interval between two marks of what is durable, beside a log that is written to. */
  durableMarkMillis: 1_000,
  /** Interval at which a writing database checks who may write to its data folder. */
  writerCheckMillis: 1_000,
  /** Time in which a previous service must have checked, where no lock says that it has ended. */
  writerWaitMillis: 3_000,
  /** Time limit of the command that asks the kernel for a folder's lock; it never waits for it. */
  lockCommandMillisMax: 5_000,
  /** One message between the gateway and the process of a database. */
  workerFrameBytesMax: 1024 * mebibyte,
  /**
   * A structured value in a message from the process of a database, such as the definition of its
   * module. The gateway reads it at once, and it can take a hundred times as much memory. It has at
   * most as many parts, those counted again that it holds twice.
   */
  workerStructuredBytesMax: 8 * mebibyte,
  /** Bytes written by such a process but unread by the gateway; with more, it starts no turn. */
  workerWaitingBytesMax: 32 * mebibyte,
  /**
   * Time for which the gateway reads messages of one such process before it serves others, and, if
   * it had requested nothing, for how many times as long it then leaves them unread.
   */
  workerSliceMillisMax: 5,
  workerUnaskedRest: 4,
  /** Warnings of one database for the service log; further ones are counted. */
  workerWarningsPerMinute: 60,
  /** Messages of such a process about sizes or opening progress. */
  workerReportsPerSecond: 10,
  /** A gateway stall after which everything that such a process sent meanwhile is still read. */
  workerStallMillisMax: 600_000,
  /** Large results, rows and programs in one such message. */
  workerBlobsMax: 2 ** 19,
  /** Programs that a starting database can ask to have linked; later, one for each update. */
  startLinksMax: 2,
  /** Step by which the memory ceiling of a process rises when the rows of its database grow. */
  ceilingStepBytes: 1024 * mebibyte,
  /** Time in which the spawner answers a request; one that does not is replaced. */
  spawnerMillisMax: 20_000,
  /** Spawners that can end while they start one process before the start counts as failed. */
  spawnAttemptsMax: 3,
  /** Wall-clock time of loading a program, describing it and running `init`. */
  publishMillisMax: 60_000,
  /** JavaScript heap that a module, with its worker, can keep between calls, in mebibytes. */
  workerHeapMebibytesMax: 256,
  /**
   * The platform's own heap limit of a thread, above what its module can keep. It is not a defence:
   * when one allocation passes it (an array or a map that doubles), the platform ends the whole
   * process. It is set so high that the watchdog and the statement bounds always act first.
   */
  workerHeadroomMebibytes: 4_096,
  /** Memory, heap or buffers, that one call can hold beyond what its database held before it. */
  callBufferBytesMax: 512 * mebibyte,
  /**
   * Wall-clock time that a thread may take to report how much memory it holds, before it is assumed
   * to be inside a built-in function.
   */
  memorySilenceMillisMax: 80,
  /** One buffer, or typed array, of a module. */
  moduleBufferBytesMax: 256 * mebibyte,
  /** Elements of a list, or characters of a string, that one built-in walks for a module. */
  moduleElementCountMax: 2 ** 25,
  /** Pieces that a module's string is split into. */
  modulePieceCountMax: 2 ** 24,
  /**
   * Elements or characters for costlier work: keys of a list, code and patterns made from strings,
   * strings compared or changed by the rules of a language.
   */
  moduleSlowCountMax: 2 ** 22,
  /** Worst-case steps of searching for a long string in another: the product of their lengths. */
  moduleSearchStepsMax: 2 ** 36,
  /** Allocation of a module between two stop checks, in units of the longest number (128 MiB). */
  moduleStretchWeightMax: 16,
  /** Elements that make a function too long for the engine to inline it. */
  modulePauseElementCount: 400,
  /** Characters of one regular expression, whose compilation cannot be interrupted. */
  modulePatternLengthMax: 2 ** 16,
  /** One program as published: a row of `st_module` holds it. */
  programBytesMax: 64 * mebibyte - 4 * kibibyte,
  /**
   * Migrations that a program carries, steps of one of them, and the definition before it. All of
   * them together are bounded by the description, which is no larger than a program.
   */
  migrationCountMax: 1_000,
  migrationStepsMax: 1_000,
  /** Those of all migrations of a program: plans and their texts grow with them. */
  migrationStepsInAllMax: 20_000,
  migrationDefinitionBytesMax: 4 * mebibyte,
  /** Rows that a program makes of one batch of rows. */
  migratedBytesMax: 128 * mebibyte,
  /** Nesting depth of brackets in a program: parsers recurse. */
  programNestingMax: 1_000,
  /** A linked program: its script, and the source map of the script. */
  linkedScriptBytesMax: 192 * mebibyte,
  linkedMapBytesMax: 96 * mebibyte,
  /** Linkers at once, with one more for a database that reopens; one may have a larger program. */
  linkersMax: 2,
  smallProgramBytesMax: mebibyte,
  /**
   * Memory and processor time of linking one program, and of a small one. On a busy machine five
   * times as much time may pass.
   */
  linkMebibytesMax: 1_536,
  linkMillisMax: 60_000,
  smallLinkMebibytesMax: 768,
  smallLinkMillisMax: 30_000,
  /** Interval between two checks of a linker's memory. */
  linkLookMillis: 50,
  /** Programs queued for a linker, and their bytes; more are rejected for now. */
  linkQueueMax: 256,
  linkQueueBytesMax: 256 * mebibyte,
  /** Recently linked small programs that are kept in memory, and what a linker keeps of pieces. */
  recentLinksBytesMax: 8 * mebibyte,
  recentPiecesBytesMax: 8 * mebibyte,
  /** Recent programs whose hashes are known to a thread. */
  recentHashesMax: 256,
  /** Small programs that one linker links before it is replaced, and how long it waits for one. */
  linkerProgramsMax: 256,
  linkerIdleMillisMax: 60_000,
  /** The doc comments of a program, as it carries them. */
  programDocsBytesMax: 256 * kibibyte,
  /** One such comment; a longer one is cut, because agents pay for each word. */
  docTextCharactersMax: 2_000,
  /** One segment of the commit log. */
  segmentBytes: 64 * mebibyte,
  /** Rows in one block of a snapshot, or a piece of its program; a larger row has its own block. */
  snapshotBlockBytes: mebibyte,
  /** Bytes of a snapshot that are written before they are synced, which keeps each sync short. */
  snapshotSyncBytes: 16 * mebibyte,
  /** Pieces of a forked log that are examined one by one, and how many of them are shown. */
  repairPiecesMax: 2 ** 18,
  repairTailsMax: 16,
  /** One record of the commit log. */
  recordBytesMax: 512 * mebibyte,
  /** An HTTP body of `call`, `sql`, `names` and MCP. */
  bodyBytesMax: 2 * mebibyte,
  /** Defaults that are filled in where one row of a call's arguments leaves out columns. */
  leftOutBytesMax: 256,
  /** Values that are filled in where rows of one part of such arguments leave them out. */
  jsonFillsMax: 16_384,
  /** Encoded arguments of a call that came as JSON: as many as a WebSocket message can have. */
  jsonArgumentsBytesMax: 32 * mebibyte,
  /**
   * View results, one for each caller that asked, kept in one database: fewer than the possible
   * connections, since each takes memory even without rows. Further subscribers are rejected.
   */
  viewInstancesMax: 4_096,
  /** Memory of those results, including their indexes and their read sets. */
  viewBytesMax: 128 * mebibyte,
  /** Bytes of encoded rows that one evaluation of a view may return. */
  viewResultBytesMax: 64 * mebibyte,
  /** Time for which a view result is kept fresh after its last use. */
  viewIdleMillisMax: 600_000,
  /** Keys that one evaluation of a view can look up before it counts as having read the table. */
  viewKeysMax: 1_024,
  /** Bytes of one such key. */
  viewKeyBytesMax: 1_024,
  /** Wall-clock time for which all paused reads together can run in one turn. */
  readSliceMillisMax: 5,
  /** Rows that an SQL write examines before it may pause and continue between the turns. */
  writeRowsInOneGo: 20_000,
  /** Rows that others can write meanwhile without it having to examine all rows again. */
  writeLaterRowsMax: 20_000,
  /** Times that others can interrupt it before it examines all rows in one go. */
  writeSlicedRunsMax: 2,
  /** Paused SQL reads of one database that continue between the turns; each keeps its tables. */
  longReadsMax: 8,
  /** How many of these can belong to one caller, and to all callers but the owner. */
  callerLongReadsMax: 4,
  othersLongReadsMax: 6,
  /** Paused SQL writes of one database, of which one runs and the others wait; of one caller. */
  longWritesMax: 32,
  callerLongWritesMax: 16,
  /** Query sets of one database whose first rows are read in slices at once; others are not. */
  pausedSetsMax: 8,
  /** Memory kept for paused reads because rows that they see were deleted meanwhile. */
  sqlHeldBytesMax: 256 * mebibyte,
  /** Rows of changes that a preview shows, of all tables together, and their bytes. */
  previewRowsMax: 10_000,
  previewRowBytesMax: 4 * mebibyte,
  /** Log lines that a preview shows, and their characters. */
  previewLinesMax: 1_000,
  previewLineCharactersMax: 256 * kibibyte,
  /** The message of one line of a module log. */
  logLineBytesMax: 64 * kibibyte,
  /** Each other string of such a line: the names of a file, of a function, of a stack frame. */
  logNameCharactersMax: 1_024,
  /** Frames of one stack trace. */
  traceFramesMax: 30,
  /** Lines of a module's log that are sent to the gateway together, and their memory. */
  logBatchLinesMax: 256,
  logBatchBytesMax: mebibyte,
  /** Time for which a line can wait for others. */
  logBatchMillisMax: 50,
  /** Largest source map that is read at all, and what is read of one: sources, lines, positions. */
  sourceMapCharactersMax: 16 * mebibyte,
  sourceMapSourcesMax: 65_536,
  sourceMapLinesMax: 2 ** 20,
  sourceMapSegmentsMax: 2 ** 21,
  /** The error text of a program, as its publisher reads it. */
  programErrorCharactersMax: 64 * kibibyte,
  /** One sentence in the service log. */
  reportCharactersMax: 4 * kibibyte,
  /** Lines that one module logs in the long run; more are counted and dropped. */
  moduleLogLinesPerSecondMax: 5_000,
  /** After a quiet period, a module can log as much at once as in this time. */
  moduleLogBurstSeconds: 10,
  /** The log of one module for one day. */
  moduleLogFileBytesMax: 128 * mebibyte,
  /** Days whose logs are kept, today included. */
  moduleLogDaysMax: 14,
  /** Log lines of one call; further ones are counted and dropped. */
  logLinesPerCallMax: 10_000,
  /** Lines of a module log sent before a follower starts to follow, and their bytes. */
  logTailLinesMax: 2_500,
  logTailBytesMax: 4 * mebibyte,
  /** Lines of a module's log that a host of a cluster gives another one. */
  logElsewhereBytesMax: 384 * kibibyte,
  /** Log lines held for one slow follower; with more characters only those that came together. */
  logFollowerLinesMax: 1_024,
  logFollowerCharactersMax: 4 * mebibyte,
  /** How many lines a follower is handed, or loses, at once. */
  logFollowerLinesAtOnce: 128,
  /** Iterators over rows, and console timers, that one call can have open. */
  openIteratorsMax: 4_096,
  openTimersMax: 256,
  /**
   * Databases of one identity that is not an operator, and those created from one address, where
   * the policy lets strangers publish.
   */
  strangerDatabasesMax: 10,
  addressDatabasesMax: 100,
  /** Names of such identities and addresses, including names that stand for no database. */
  strangerNamesMax: 100,
  addressNamesMax: 1_000,
  /** Delay after which the sum of what all databases of an owner hold is recomputed. */
  quotaSumMillis: 100,
  /** A database name. */
  databaseNameLengthMax: 64,
  /** `iss` and `sub` of a token. */
  tokenClaimBytesMax: 128,
  /** Tokens whose signature was checked, remembered so that it is not checked on every request. */
  verifiedTokensMax: 4_096,
  /** Interval between two checks whether the TLS certificate was renewed. */
  certificateLookMillis: 2_000,
  /** Requests of one identity; more are rejected with 429, except on loopback. */
  identityRequestsPerSecondMax: 1_000,
  /** Requests from one address. */
  addressRequestsPerSecondMax: 2_000,
  /** HTTP requests whose answer has not begun. */
  requestsMax: 5_000,
  /** Bytes of their bodies, all together. One client can take at most as much as it leaves free. */
  bodiesBytesMax: 256 * mebibyte,
  /** Answers of all requests that wait for slow clients, and the size from which they count. */
  answersBytesMax: 1024 * mebibyte,
  largeAnswerBytesMin: 64 * kibibyte,
  /** The JSON of rows that is written at once; what is behind it comes in pieces. */
  answerAtOnceCharacters: 128 * kibibyte,
  answerPieceCharacters: 64 * kibibyte,
  /** Time without a byte of a body that is still coming. */
  bodyIdleMillisMax: 30_000,
  /** Bytes of a body that are read at once; the rest is read in pieces, in turn with others. */
  bodyBytesAtOnceMax: 64 * kibibyte,
  /** Bytes of a rejected body that are read so that the connection can be used again. */
  refusedBodyBytesMax: 256 * kibibyte,
  /** Time for a client that still sends to read its answer before the connection ends. */
  lingerMillisMax: 1_000,
  /** Open connections from one address. */
  addressConnectionsMax: 1_000,
  /** Identities, or addresses, whose rate is tracked. */
  rateBucketsMax: 65_536,
  /** Refused requests that are noted in the audit log. */
  auditRefusalsPerMinuteMax: 600,
  /** Identities whose energy balance is remembered. */
  energyBalancesMax: 4_096,
  /** Bytes read from the end of the newest audit log file at a start. */
  auditLookBytes: mebibyte,
  /** Lines of the audit log of a host that keeps everything in memory. */
  auditMemoryLinesMax: 10_000,
  /** Lines of the audit log in one answer. */
  auditTailLinesMax: 10_000,
  /** Roles granted in one database. */
  databaseGrantsMax: 1_024,
  /** Limited tokens of one database that are neither expired nor revoked. */
  databaseTokensMax: 1_024,
  /** Revoked tokens that are remembered before bearers can give up no more of theirs. */
  revokedTokensMax: 100_000,
  /** Tokens that one address can give up where rates are limited: in an hour, and at once. */
  givenUpTokensPerHour: 60,
  /** Tables, or reducers, that one token can name. */
  capabilityNamesMax: 256,
  /** Earlier keys of a host that still verify: each is tried with every token that fails. */
  oldKeysMax: 16,
  /** Retired keys whose fingerprints are kept: data may still remember one as its own. */
  retiredKeysMax: 64,
  /** Foreign issuers whose keys are kept. */
  issuersMax: 256,
  /** Issuers asked for their keys at once: the sender of a token chooses which issuer is asked. */
  issuerFetchesMax: 16,
  /** Names of issuers that are looked up at once; each can take the system a minute. */
  issuerLookupsMax: 32,
  /** Keys in the set of an issuer: every one of them may be tried for a token. */
  issuerKeysMax: 64,
  /** Time for one document of an issuer, redirects included. */
  issuerMillisMax: 5_000,
  /** One document of an issuer. */
  issuerDocumentBytesMax: mebibyte,
  /** Redirects to it. */
  issuerRedirectsMax: 3,
  /** Characters of a JSON text beyond which it is read in slices. */
  wholeTextCharactersMax: 16 * kibibyte,
  /** Time for which the gateway works on all such texts together before it serves others. */
  sliceMillisMax: 2,
  /**
   * Connections that wait to be accepted, if the system allows as many. A client that finds the
   * queue full tries again after a second, then after longer.
   */
  backlogMax: 4_096,
  /** Off loopback; see `service/listener-copies.ts`. */
  connectionsAtOnce: 8,
  /**
   * Time for which a connection stays open without a request. Longer than proxies and load
   * balancers wait (60 s): a request sent just as the connection closes would be reset.
   */
  idleConnectionMillisMax: 75_000,
  /**
   * When no more than this share of all connections is free, idle ones are closed; and how often,
   * at most, the service looks for them.
   */
  connectionsKeptFreePart: 16,
  idleLookMillis: 100,
  /** Headers of one request, its first line included; and the hint in a header of an answer. */
  headerBytesMax: 16 * kibibyte,
  hintCharactersMax: 1_000,
  /** Interval between two checks for requests that take too long to arrive. */
  slowRequestLookMillis: 1_000,
  /** Time for a request's headers to arrive, and for a whole request, body included. */
  headerMillisMax: 15_000,
  requestMillisMax: 300_000,
  /** One WebSocket message of a client, assembled from its frames. */
  socketMessageBytesMax: 32 * mebibyte,
  /** Commas, colons and opening brackets in one JSON message of a client. */
  socketTextPartsMax: 65_536,
  /** Parts of the arguments in such a message, as many as the largest HTTP body can have. */
  socketArgumentPartsMax: 2 ** 20,
  /** Query sets of one connection. */
  connectionSetsMax: 16_384,
  /** Characters of all queries of one subscription: they are checked before any is accepted. */
  querySetCharactersMax: 2 ** 20,
  /** Wall-clock time of one commit's live queries after which none of them scans a whole table. */
  liveScanMillisMax: 1_000,
  /** First rows reused in one turn; each copy of them goes to another thread. */
  sharedRowsBytesMax: 16 * mebibyte,
  /** Approximate memory of the distinct queries that one database watches at once. */
  liveQueryBytesMax: 160 * mebibyte,
  /** How much of it queries of one identity that does not own the database can take. */
  liveIdentityBytesMax: 32 * mebibyte,
  /**
   * Wall-clock time for rereading tables for the live queries of one identity, refilled slowly; all
   * identities together have twice as much.
   */
  liveRereadMillisMax: 1_000,
  /** Messages of one WebSocket client that are queued; more end its connection. */
  socketMessagesInMax: 16_384,
  /** Bytes of such messages beyond which reading from the client pauses. */
  socketBytesInMax: 4 * mebibyte,
  /** Messages for one client that are not written yet; more end its connection. */
  socketMessagesOutMax: 16_384,
  /** Bytes of such messages: two of the largest answers fit. */
  socketBytesOutMax: 512 * mebibyte,
  /** Bytes of such messages for all clients together; the client with the most is dropped. */
  socketsBytesOutMax: 1024 * mebibyte,
  /** Message bodies of at least this size are compressed, for clients that ask for it. */
  socketCompressBytesMin: kibibyte + 1,
  /** Interval between two pings, and silence after which a client is dropped. */
  socketPingMillis: 15_000,
  socketIdleMillis: 30_000,
  /** Time that a client has to answer a close. */
  socketCloseMillis: 250,
  /** Connections that the service holds at once, and the share of them that may be WebSockets. */
  connectionsMax: 10_000,
  socketsShareMax: 0.9,
  /** Open files without which a service does not start, and those that clients must leave free. */
  descriptorsMin: 200,
  descriptorsKept: 120,
  /** Interval between two service log lines saying that clients find none. */
  descriptorReportMillis: 60_000,
  /** Time for accepted work to finish when the service stops. */
  shutdownMillisMax: 20_000,
  /** The part of it after which procedures that wait are aborted, so that they have answers. */
  shutdownPatienceMillis: 5_000,
  /** Time that databases have to end, however long requests took before. */
  closeMillisMin: 5_000,
  /** What the command line reads of an answer, of one with rows, and what it shows of an error. */
  answerBytesMax: 64 * mebibyte,
  rowsAnswerBytesMax: 480 * mebibyte,
  shownErrorLengthMax: 65_536,
} as const;

/**
 * Memory that all statements of one database can hold at the same moment: those under way, what
 * each of these can take uncounted, and one that runs in one go, with its result: a write, the
 * query of a view, or a live query that is reread.
 */
export const statementBytesMax =
  limits.sqlDatabaseMemoryBytesMax +
  (limits.longReadsMax + 2) * limits.sqlUncountedBytes +
  limits.sqlMemoryBytesMax +
  limits.sqlResultBytesMax;
