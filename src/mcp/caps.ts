import type { Rights } from '../database/outcome.ts';
import { limits } from '../limits.ts';
import type { JsonObject } from '../values/json.ts';
import { utf8Length } from '../values/utf8.ts';
import type { McpSession } from './session.ts';
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
 * Reads the caps of a call. The limits of a limited token cap each page. Throws `ToolFailure` for
 * an invalid value.
 */
export function capsIn(
  args: JsonObject,
  { rowsMax = limits.agentRowsMax }: Pick<Rights, 'rowsMax'>,
  session: Answering,
): Caps {
  return {
    rowsMax: Math.min(capIn(args, 'max_rows') ?? limits.agentRowsMax, rowsMax),
    textBytesMax: answerBytes(session, capIn(args, 'max_bytes')),
    millisMax: capIn(args, 'timeout_ms'),
  };
}

/** What a session says of the length of its answers. */
export type Answering = Pick<McpSession, 'answerBytes'> & {
  readonly caller: Pick<McpSession['caller'], 'capability'>;
};

/** Bytes of rows in one answer; `asked`: as many as the agent wants. */
export function answerBytes({ answerBytes, caller }: Answering, asked?: number): number {
  const wanted = asked ?? answerBytes ?? limits.agentTextBytesUnasked;
  return Math.min(wanted, caller.capability?.bytesMax ?? limits.agentTextBytesMax);
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
