import { limits } from '../limits.ts';
import type { JsonObject } from '../values/json.ts';
import { utf8Length } from '../values/utf8.ts';
import { optionalIntegerArgument } from './tool.ts';

/** How much of a result one answer has, and how long a statement may run. */
export interface Caps {
  readonly rowsMax: number;
  readonly textBytesMax: number;
  /** `undefined`: as long as any statement. */
  readonly millisMax: number | undefined;
}

/** The arguments that set them, as a tool declares them. */
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

/** The caps that a call sets. Throws `ToolFailure` for a value that makes no sense. */
export function capsIn(args: JsonObject): Caps {
  return {
    rowsMax: capIn(args, 'max_rows') ?? limits.agentRowsMax,
    textBytesMax: capIn(args, 'max_bytes') ?? limits.agentTextBytesMax,
    millisMax: capIn(args, 'timeout_ms'),
  };
}

function capIn(args: JsonObject, name: keyof typeof capProperties): number | undefined {
  return optionalIntegerArgument(args, name, capProperties[name]);
}

/**
 * Whether a row, as JSON, still fits an answer: asked for one row after another. The first always
 * does, or an answer could have none.
 */
export function fitting({ rowsMax, textBytesMax }: Caps): (row: string, count: number) => boolean {
  let bytes = 0;
  return (row, count) => {
    bytes += utf8Length(row) + 1;
    return count === 0 || (count < rowsMax && bytes <= textBytesMax);
  };
}
