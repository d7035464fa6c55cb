/**
 * The bounds of `reducerdb dev`, of a service for development, and of threads that start faster.
 * Part of `limits.ts`.
 */
export const devLimits = {
  /** How long a save waits for further events, and the files that are kept meanwhile. */
  devDebounceMillis: 30,
  devChangedFilesMax: 4_096,
  /** When changed files are looked at once more, for a change that the watcher left out. */
  devLookAgainMillis: 100,
  /** Ports that are tried, beginning with the wished one. */
  devPortsMax: 100,
  /** How long a service may take until it answers, and how long it may take to end. */
  devStartMillisMax: 60_000,
  devStopMillisMax: 20_000,
  /** How often a service is started again after it ended by itself, within this time. */
  devRestartsMax: 3,
  devRestartMillis: 60_000,
  /** Between two looks at the clock, the folder and the service. */
  devLookMillis: 1_000,
  /** A look that comes this much too late: the machine slept. */
  devSleepMillisMin: 5_000,
  /** Before the log is followed again after its end. */
  devFollowMillis: 500,
  /** Lines that wait while a question is open; of more, the last ones are shown. */
  devHeldLinesMax: 1_000,
  /** Characters of one line of the front end. */
  devLineCharactersMax: 65_536,
  /** Lines of the service that are shown when it ends. */
  devTailLinesMax: 10,
  /** Tables whose rows are counted before a question. */
  devCountedTablesMax: 64,
  /** Programs that are small to a service for development: their linker is kept. */
  promptProgramBytesMax: 8 * 1024 * 1024,
  /** How long a linker of a service for development waits for the next program. */
  promptIdleMillisMax: 12 * 3_600_000,
  /** From the end of an examination, or the load of a program, to the next thread or sandbox. */
  spareMillis: 250,
  /** From the first start of a thread to when the code of its program is made for the next ones. */
  compileAfterMillis: 2_000,
  /** A file of such code, and how many are kept beside one program, for other versions of Node. */
  compiledBytesMax: 16 * 1024 * 1024,
  compiledFilesMax: 4,
} as const;
