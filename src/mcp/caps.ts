import type { Rights } from '../database/outcome.ts';
import { limits } from '../limits.ts';
import type { JsonObject } from '../values/json.ts';
import { utf8Length } from '../values/utf8.ts';
import { optionalIntegerArgument } from './tool.ts';

/** Limits of one result page and of the running time of a statement. */
export interface Caps {
  readonly rowsMax: number;
  readonly textBytesMax: number;
  /** `undefined`: the limit of all statements. */
  readonly millisMax: number | undefined;
}

/** The arguments that set the caps, as a tool declares them. */
export const capProperties = {
  max_rows: {
    type: 'integer',
    minimum: 1,
    maximum: limits.agentRowsMax,
    description: 'Most rows of this answer; the rest comes by its cursor.',
  },
  max_bytes: {
    type: 'integer',
    minimum: 1,
    maximum: limits.agentTextBytesMax,
    description: 'Most bytes of its rows as JSON; it has at least one row.',
  },
  timeout_ms: {
    type: 'integer',
    minimum: 1,
    maximum: limits.agentStatementMillisMax,
    description: 'Running time after which the statement is stopped.',
  },
} as const;

/**
 * Reads the caps of a call. The row limit of a limited token caps each page. Throws `ToolFailure`
 * for an invalid value.
 */
export function capsIn(
  args: JsonObject,
  { rowsMax = limits.agentRowsMax }: Pick<Rights, 'rowsMax'>,
): Caps {
  return {
    rowsMax: Math.min(capIn(args, 'max_rows') ?? limits.agentRowsMax, rowsMax),
    textBytesMax: capIn(args, 'max_bytes') ?? limits.agentTextBytesUnasked,
    millisMax: capIn(args, 'timeout_ms'),
  };
}

function capIn(args: JsonObject, name: keyof typeof capProperties): number | undefined {
  return optionalIntegerArgument(args, name, capProperties[name]);
}

/**
 * Returns a check whether the next row, as JSON, still fits the result; call it once per row. The
 * first row always fits, so no result is empty for lack of space.
 */
export function fitting({ rowsMax, textBytesMax }: Caps): (row: string, count: number) => boolean {
  let bytes = 0;
  return (row, count) => {
    bytes += utf8Length(row) + 1;
    return count === 0 || (count < rowsMax && bytes <= textBytesMax);
  };
}
