const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/**
 * The bounds of what agents use: the MCP door, its bridge, its tools, and the ledger that says what
 * they did. Part of `limits.ts`.
 */
export const agentLimits = {
  /** Reducers that are separate tools; with more, one tool describes them on request. */
  reducerToolsMax: 20,
  /** Total characters of their descriptions and schemas, beyond which the list ends too. */
  reducerToolsCharactersMax: 131_072,
  /** The argument schema of one, and the types that it uses; a larger one shows less detail. */
  reducerSchemaCharactersMax: 16_384,
  reducerSchemaTypesMax: 2_048,
  /** Outcomes of calls with an idempotency key: how long each is kept, and how many. */
  keptOutcomeMillis: 24 * 3_600_000,
  callerKeptOutcomesMax: 10_000,
  keptOutcomesMax: 100_000,
  /** Of those, the ones that only callers with a role can have. */
  reservedKeptOutcomes: 10_000,
  /** The value of one, and its key as UTF-8. */
  keptValueBytesMax: 64 * kibibyte,
  idempotencyKeyBytesMax: 128,
  /** Expired ones that are removed by one commit. */
  keptOutcomesRemovedMax: 1_000,
  /** How long they can stay when few calls come. */
  keptOutcomesLateMillis: 60_000,
  /** Requests of an agent that the MCP bridge has under way at once. */
  bridgeRequestsMax: 16,
  /** Messages that it has under way or queued, including streams that stay open. */
  bridgeMessagesMax: 256,
  /** Streams among them that stay open: they take no place of a request. */
  bridgeStreamsMax: 64,
  /** Total length of messages beyond which it accepts no more for a while. */
  bridgeBytesMax: 32 * mebibyte,
  /** One message of an agent: twice what a service accepts, so that the service rejects it. */
  bridgeLineBytesMax: 4 * mebibyte,
  /** One answer that a service sends to it. */
  bridgeAnswerBytesMax: 64 * mebibyte,
  /** Text shown of a response that is not an answer, such as the page of a proxy. */
  bridgeErrorCharactersMax: 4_096,
  /** Time without any answer, once the agent has ended its input, after which it gets errors. */
  bridgeEndMillisMax: 30_000,
  /** MCP requests of one caller that are under way at once, and streams that report changes. */
  mcpRequestsMax: 512,
  mcpListenStreamsMax: 32,
  /** Messages of one batch. */
  mcpBatchMax: 50,
  /** The id of a request, as JSON, and the token of its progress notices. */
  mcpIdCharactersMax: 1_024,
  /** Entries of a page of tools, resources, templates or prompts. */
  mcpPageItemsMax: 200,
  /** Values of one completion. */
  mcpCompletionValuesMax: 100,
  /** Messages queued for one slow reader of a stream. */
  mcpMessagesWaitingMax: 256,
  /** Progress messages of one request. */
  mcpProgressPerSecondMax: 20,
  /** Time after which a client that reads a quiet stream is sent a keep-alive. */
  mcpQuietMillisMax: 10_000,
  /** Times that a client can be asked for input during one request. */
  mcpRoundsMax: 32,
  /** Time for which a client can answer such a question. */
  mcpStateMillisMax: 600_000,
  /** Resources listed to an agent; it reaches the others by their addresses. */
  agentResourcesListedMax: 2_000,
  /** Rows of a table, and lines of a log, that a resource shows, and the length of its text. */
  resourceRowsMax: 1_000,
  resourceLogLinesMax: 500,
  resourceCharactersMax: 256 * kibibyte,
  /** Size of the schema, the log, and each other list that a prompt shows. */
  promptSchemaCharactersMax: 64 * kibibyte,
  promptLogLinesMax: 50,
  promptListCharactersMax: 32 * kibibyte,
  /** Resources that an agent watches with one request. */
  watchedResourcesMax: 100,
  /** Time between two notices of one watch. */
  watchNoticeMillis: 250,
  /** Delay before a watched resource that was lost is looked up again; it grows each time. */
  watchRetryMillisMin: 1_000,
  watchRetryMillisMax: 60_000,
  /** Interval between two notices that a tool of an agent is still running. */
  agentProgressSeconds: 5,
  /** A schema in one answer of the MCP tool, as JSON; of a longer one it shows the names. */
  agentSchemaBytesMax: 32_000,
  /** Rows of one answer of an MCP tool; the rest is read with a cursor. */
  agentRowsMax: 10_000,
  /** Characters of those rows, and how many there are unless an agent asks for more. */
  agentTextBytesMax: mebibyte,
  agentTextBytesUnasked: 32 * kibibyte,
  /** A structured result; a larger one is left out, because its text says the same. */
  agentStructuredBytesMax: 16 * kibibyte,
  /** The type of a column in an answer; the rest of a longer one is left out. */
  agentTypeCharactersMax: 80,
  /** Run time that an agent can give a statement, if the service's own bound allows it. */
  agentStatementMillisMax: 600_000,
  /** Statement results whose remaining rows are kept for agents: in total, and of one caller. */
  cursorsMax: 256,
  callerCursorsMax: 16,
  /** Encoded rows of one such remainder, and of all together. */
  cursorBytesMax: 16 * mebibyte,
  cursorsBytesMax: 64 * mebibyte,
  /** Time for which a remainder is kept after it was last read. */
  cursorMillisMax: 300_000,
  /** Time that an agent can wait for a change, and does unless it says how long. */
  agentWaitSecondsMax: 60,
  agentWaitSecondsUnasked: 30,
  /** Such waits at the same time: of all callers, and of one. */
  agentWaitsMax: 512,
  callerWaitsMax: 32,
  /** Rows that later waits are compared with: moments of all callers, of one, and their memory. */
  agentMomentsMax: 256,
  callerMomentsMax: 16,
  agentMomentsBytesMax: 64 * mebibyte,
  agentMomentMillisMax: 600_000,
  /** Lines of a module log in one answer of the MCP tool, and how much of the log it scans. */
  agentLogLinesMax: 1_000,
  agentLogScanLinesMax: 10_000,
  agentLogScanBytesMax: 8 * mebibyte,
  /** Files of a module that are shown as they were published: characters of all together. */
  sourceCharactersMax: 4 * mebibyte,
  sourceLinesMax: 262_144,
  /** Functions whose lines are known, and names of what is not shown. */
  sourceFunctionsMax: 10_000,
  /** Submodules whose functions are looked for in one program. */
  sourceSubmodulesMax: 1_000,
  sourcesLeftOutMax: 1_000,
  /** Time and memory for reading them from one program, and programs that wait for it. */
  sourceReadMillisMax: 10_000,
  sourceReadMebibytes: 512,
  sourceReadsMax: 16,
  /** Modules whose files are kept in memory after they were read. */
  sourcesKeptMax: 4,
  /** Lines at the end of a log among which the reason of a crash is. */
  crashScanLinesMax: 1_000,
  /** Texts of one definition kept for limited tokens, such as schemas, and their length. */
  limitedTextsMax: 16,
  limitedTextsCharactersMax: 16 * mebibyte,
  /** Previews that an agent can still apply: of all callers, and of one. */
  previewsMax: 256,
  callerPreviewsMax: 32,
  /** Memory kept of one for that, mostly its arguments, and of all together. */
  previewBytesMax: 4 * mebibyte,
  previewsBytesMax: 64 * mebibyte,
  /** Time for which a preview is kept. */
  previewMillisMax: 600_000,
  /** Statements of one preview. */
  previewStatementsMax: 1_000,
  /** A program that an agent sends to have its publish tried; a message has 2 MiB. */
  agentProgramBytesMax: 1_536 * kibibyte,
  /** Changed rows of one preview that an answer to an agent shows. */
  agentPreviewRowsMax: 200,
  agentPreviewRowsUnasked: 50,
  /** Of these, what a question to the user shows. */
  previewQuestionCharactersMax: 2_000,
  /** How long the ledger of a database is kept, and how large it may be: settings replace these. */
  ledgerKeepMillis: 30 * 24 * 3_600_000,
  ledgerBytesMax: 256 * mebibyte,
  /** One of its files; the oldest is deleted whole. */
  ledgerFileBytesMax: 4 * mebibyte,
  /** Time until what was done is written, and until counts of reads are. */
  ledgerWriteMillis: 1_000,
  ledgerReadsMillis: 60_000,
  /** Interval at which ledgers that nothing is written to are searched for old files. */
  ledgerSweepMillis: 3_600_000,
  /** Entries of one block, and entries of one database that wait to be written. */
  ledgerBlockEntriesMax: 2_048,
  ledgerWaitingMax: 65_536,
  /** That many are written at once. */
  ledgerHurriedEntries: 16_384,
  /** Pairs of a limited token and a table whose reads are counted at the same time. */
  ledgerReadsMax: 4_096,
  /** Limited tokens refused before they reach a database that are counted one by one a minute. */
  ledgerTurnedAwayMax: 32,
  /** Attempts that changed nothing, of one database, that have entries of their own. */
  ledgerRefusalsPerMinuteMax: 600,
  /** A statement in an entry, and the longest one that is searched for its literals. */
  ledgerSubjectCharactersMax: 1_000,
  ledgerReadCharactersMax: 64 * kibibyte,
  /** Entries of one answer, and what is read of files for it. */
  ledgerPageEntriesMax: 1_000,
  ledgerPageBytesMax: 32 * mebibyte,
  /** Ends of the service without notice that are remembered. */
  ledgerCrashesMax: 256,
  /** Memory of ledgers of one database where a service keeps everything in memory. */
  ledgerMemoryBytesMax: 4 * mebibyte,
} as const;
