const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** Bounds on HTTP handlers of modules. They are part of `limits`, where other code reads them. */
export const handlerLimits = {
  /** HTTP routes of one module, and the characters of the path of one. */
  httpRoutesMax: 1_024,
  httpRoutePathLengthMax: 1_024,
  /** The body of a request to a handler of a module, and of its answer, which goes in pieces. */
  handlerBodyBytesMax: 16 * mebibyte,
  handlerAnswerBytesMax: 16 * mebibyte,
  handlerAnswerPieceBytes: 64 * kibibyte,
  /** Headers of such an answer, and their names and values together. */
  handlerHeadersMax: 256,
  handlerHeaderBytesMax: 64 * kibibyte,
  /** Interval between two lines in a module's log about headers that its handlers cannot set. */
  handlerWarningMillis: 60_000,
} as const;
