import { DecodeError } from '../values/binary-reader.ts';

/** A later version of reducerdb wrote it, so that nothing may be wrong with it. */
export class LaterVersionError extends DecodeError {}
