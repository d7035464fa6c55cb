import { limits } from '../limits.ts';
import { viewResultTags } from '../protocol/module-abi.ts';
import { BinaryReader, DecodeError } from '../values/binary-reader.ts';
import type { ReadSet } from './read-set.ts';
import type { ViewOutcome } from './runner.ts';

/**
 * Reads the data that a view hook returned: a tag, then an array of rows (u32 count, rows), or an
 * SQL text and nothing after it. The code that stores the rows checks them.
 */
export function readViewResult(data: Uint8Array, reads: ReadSet): ViewOutcome {
  if (data.length > limits.viewResultBytesMax) {
    const size = `${data.length} bytes of rows, more than ${limits.viewResultBytesMax}`;
    return crashed(`the view returned ${size}: narrow it, or let clients query the table`);
  }
  try {
    const reader = new BinaryReader(data);
    switch (reader.u8()) {
      case viewResultTags.rows: {
        const count = reader.u32();
        return { kind: 'rows', rows: reader.raw(reader.remaining), count, reads };
      }
      case viewResultTags.sql: {
        const text = reader.string();
        if (reader.remaining > 0) return crashed('the SQL text of the view has bytes left over');
        return { kind: 'sql', text, reads };
      }
      default:
        return crashed('the result of the view begins with an unknown tag');
    }
  } catch (error) {
    if (error instanceof DecodeError) return crashed('the result of the view is cut short');
    throw error;
  }
}

function crashed(message: string): ViewOutcome {
  return { kind: 'crashed', message, trace: [] };
}
