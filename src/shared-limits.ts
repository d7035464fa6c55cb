/**
 * The bounds that code inside client libraries keeps. Single constants, so that a bundler takes
 * only those that a page needs; `limits.ts` is the list of all.
 */
const kibibyte = 1024;

/** Nesting of a type, a value or a JSON text. */
export const nestingDepthMax = 128;
/** Elements without bytes (arrays of unit) in one encoded value: their count is all they cost. */
export const emptyElementCountMax = 65_536;
/** Nodes of one type written out without refs, which can double with every ref. */
export const typeNodeCountMax = 65_536;
/** Variants of one sum: the tag is one byte. */
export const variantCountMax = 256;
/** Elements of one vector. */
export const vectorLengthMax = 8_192;
/** Values that one SQL statement may be given for its parameters. */
export const sqlParametersMax = 1_024;
/** Queries of one subscription. */
export const querySetQueriesMax = 4_096;
/** Messages that one frame of the server holds, and bytes beyond which it takes no more. */
export const serverFrameMessagesMax = 4_096;
export const serverFrameBytesTarget: number = 512 * kibibyte;
/** The same for a frame of the client. */
export const clientFrameMessagesMax = 4_096;
export const clientFrameBytesTarget: number = 256 * kibibyte;
/** Query sets that one client resumes at once. */
export const resumeSetsMax = 4_096;
/** Hosts of a cluster whose addresses a client gets, and characters of each address. */
export const hostsToldMax = 16;
export const hostAddressCharactersMax = 256;
/** Calls and queries of one client that wait for an answer, sent or not. */
export const clientRequestsMax = 16_384;
