import { limits } from '../../limits.ts';
import { cutName } from '../log-line.ts';

/**
 * Reads a source map, revision 3: for a position in generated text, the position in the author's.
 * The `mappings` text is decoded on the first lookup, because most programs never fail.
 *
 * ```
 * mappings = line (";" line)*     line = [segment ("," segment)*]
 * segment  = VLQ numbers, each relative to the one before: generated column (per line),
 *            source, source line, source column [, name]; a segment of one number maps to nothing
 * VLQ      = base64 digits of 5 bits, low first; bit 5 = more follow; bit 0 of the value = sign
 * ```
 *
 * A program brings its map, so nothing in it is trusted: names of sources are cut, a map that is
 * too large maps nothing, and what comes after too many lines or segments is left out.
 */
export interface SourceMap {
  /** `line` and `column` count from 1, in and out. Undefined where the map is silent. */
  originalPosition(line: number, column: number): SourcePosition | undefined;
}

export interface SourcePosition {
  readonly source: string;
  readonly line: number;
  readonly column: number;
}

/** Reads `json`, the map's text; a text that is not a map gives one that maps nothing. */
export function readSourceMap(json: string): SourceMap {
  let text: string | undefined = json;
  let decoded: DecodedMap = nothing;
  return {
    originalPosition(line, column) {
      if (text !== undefined) decoded = decode(text);
      text = undefined;
      const segments = decoded.lines[line - 1];
      const segment = segments === undefined ? -1 : segmentAt(segments, column - 1);
      if (segments === undefined || segment < 0) return undefined;
      const source = decoded.sources[segments[segment + 1] ?? -1];
      if (source === undefined) return undefined;
      return {
        source,
        line: (segments[segment + 2] ?? 0) + 1,
        column: (segments[segment + 3] ?? 0) + 1,
      };
    },
  };
}

/** Per generated line: column, source, source line, source column, four numbers a segment. */
interface DecodedMap {
  readonly sources: readonly string[];
  readonly lines: readonly Int32Array[];
}

const nothing: DecodedMap = { sources: [], lines: [] };

/** Offset of the last segment that begins at or before `column`, or -1. */
function segmentAt(segments: Int32Array, column: number): number {
  let low = 0;
  let high = segments.length / 4;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((segments[middle * 4] ?? 0) <= column) low = middle + 1;
    else high = middle;
  }
  return (low - 1) * 4;
}

function decode(json: string): DecodedMap {
  if (json.length > limits.sourceMapCharactersMax) return nothing;
  let raw: unknown;
  try {
    raw = JSON.parse(json);
  } catch {
    return nothing;
  }
  if (typeof raw !== 'object' || raw === null) return nothing;
  const { sources, mappings } = raw as { sources?: unknown; mappings?: unknown };
  return {
    sources: Array.isArray(sources) ? sources.slice(0, limits.sourceMapSourcesMax).map(nameOf) : [],
    lines: typeof mappings === 'string' ? decodeMappings(mappings) : [],
  };
}

function nameOf(source: unknown): string {
  return typeof source === 'string' ? cutName(source) : '';
}

/** Most maps have lines that map nothing. */
const noSegments = new Int32Array(0);

function decodeMappings(mappings: string): Int32Array[] {
  const lines: Int32Array[] = [];
  // Source, source line and source column continue from line to line.
  const last: [number, number, number] = [0, 0, 0];
  let room = limits.sourceMapSegmentsMax;
  for (let start = 0; start <= mappings.length && room > 0; ) {
    if (lines.length === limits.sourceMapLinesMax) break;
    const semicolon = mappings.indexOf(';', start);
    const end = semicolon < 0 ? mappings.length : semicolon;
    const segments = start === end ? noSegments : decodeLine(mappings, { start, end, room }, last);
    room -= segments.length / 4;
    lines.push(segments);
    start = end + 1;
  }
  return lines;
}

interface Stretch {
  readonly start: number;
  readonly end: number;
  /** Maximum number of segments to read. */
  readonly room: number;
}

function decodeLine(
  mappings: string,
  { start, end, room }: Stretch,
  last: [number, number, number],
): Int32Array {
  const numbers: number[] = [];
  const steps = new Int32Array(numbersMax);
  let column = 0;
  for (let at = start; at < end && numbers.length < room * 4; at += 1) {
    const count = decodeVlq(mappings, { at, end }, steps);
    while (at < end && mappings.charCodeAt(at) !== comma) at += 1;
    if (count === 0) continue;
    column += steps[0] ?? 0;
    if (count < 4) {
      numbers.push(column, -1, 0, 0);
      continue;
    }
    last[0] += steps[1] ?? 0;
    last[1] += steps[2] ?? 0;
    last[2] += steps[3] ?? 0;
    numbers.push(column, last[0], last[1], last[2]);
  }
  return Int32Array.from(numbers);
}

const comma = 44;

/** A segment has at most five numbers, whatever follows them. */
const numbersMax = 5;

const base64Digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** By character code; -1: not a digit. */
const digitOf = Int8Array.from({ length: 128 }, (_, code) =>
  base64Digits.indexOf(String.fromCharCode(code)),
);

/** Reads numbers up to the next comma or other non-digit; returns how many. */
function decodeVlq(
  text: string,
  { at: start, end }: { readonly at: number; readonly end: number },
  into: Int32Array,
): number {
  let count = 0;
  let value = 0;
  let shift = 0;
  for (let at = start; at < end && count < numbersMax; at += 1) {
    const digit = digitOf[text.charCodeAt(at)] ?? -1;
    if (digit < 0) return count;
    value |= (digit & 31) << shift;
    shift += 5;
    if ((digit & 32) === 0) {
      into[count] = (value & 1) === 0 ? value >>> 1 : -(value >>> 1);
      count += 1;
      value = 0;
      shift = 0;
    }
  }
  return count;
}
