/**
 * Reads a source map, revision 3: for a position in generated text, the position in the author's.
 * The `mappings` text is decoded at the first question, because most programs never fail.
 *
 * ```
 * mappings = line (";" line)*     line = [segment ("," segment)*]
 * segment  = VLQ numbers, each relative to the one before: generated column (per line),
 *            source, source line, source column [, name]; a segment of one number maps to nothing
 * VLQ      = base64 digits of 5 bits, low first; bit 5 = more follow; bit 0 of the value = sign
 * ```
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

/** `json` is the map's text; a text that is no map gives one that maps nothing. */
export function readSourceMap(json: string): SourceMap {
  let decoded: DecodedMap | undefined;
  return {
    originalPosition(line, column) {
      decoded ??= decode(json);
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
  let raw: unknown;
  try {
    raw = JSON.parse(json);
  } catch {
    return { sources: [], lines: [] };
  }
  if (typeof raw !== 'object' || raw === null) return { sources: [], lines: [] };
  const { sources, mappings } = raw as { sources?: unknown; mappings?: unknown };
  return {
    sources: Array.isArray(sources) ? sources.map(String) : [],
    lines: typeof mappings === 'string' ? decodeMappings(mappings) : [],
  };
}

function decodeMappings(mappings: string): Int32Array[] {
  // Source, source line and source column run on from line to line.
  const last: [number, number, number] = [0, 0, 0];
  return mappings.split(';').map((line) => {
    const numbers: number[] = [];
    let column = 0;
    for (const segment of line.split(',')) {
      const [columnStep, ...steps] = decodeVlq(segment);
      if (columnStep === undefined) continue;
      column += columnStep;
      if (steps.length < 3) {
        numbers.push(column, -1, 0, 0);
        continue;
      }
      last[0] += steps[0] ?? 0;
      last[1] += steps[1] ?? 0;
      last[2] += steps[2] ?? 0;
      numbers.push(column, ...last);
    }
    return Int32Array.from(numbers);
  });
}

const base64Digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

function decodeVlq(text: string): number[] {
  const values: number[] = [];
  let value = 0;
  let shift = 0;
  for (const character of text) {
    const digit = base64Digits.indexOf(character);
    if (digit < 0) return values;
    value |= (digit & 31) << shift;
    shift += 5;
    if ((digit & 32) === 0) {
      values.push((value & 1) === 0 ? value >>> 1 : -(value >>> 1));
      value = 0;
      shift = 0;
    }
  }
  return values;
}
