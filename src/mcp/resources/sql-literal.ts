import { unreachable } from '../../assert.ts';
import { specialKindOf } from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';

/**
 * Writes the value in a text as an SQL literal for a column of this type, because watched queries
 * take no parameters. Returns `undefined` if the text is not a value of the type, or if values of
 * the type cannot be compared. Quoted texts are validated by the statement itself.
 */
export function sqlLiteral(type: AlgebraicType, text: string): string | undefined {
  const special = specialKindOf(type);
  switch (special) {
    case 'identity':
      return hexLiteral(text, 64);
    case 'connectionId':
      return hexLiteral(text, 32);
    case 'bytes':
      return /^(0x)?([0-9a-f]{2})*$/i.test(text) ? `X'${text.replace(/^0x/i, '')}'` : undefined;
    case 'timestamp':
    case 'uuid':
      return quotedText(text);
    case undefined:
      return scalarLiteral(type, text);
    case 'timeDuration':
    case 'scheduleAt':
    case 'option':
    case 'result':
    case 'unit':
      return undefined;
    default:
      return unreachable(special);
  }
}

function scalarLiteral({ kind }: AlgebraicType, text: string): string | undefined {
  switch (kind) {
    case 'string':
      return quotedText(text);
    case 'bool':
      return text === 'true' || text === 'false' ? text.toUpperCase() : undefined;
    case 'f32':
    case 'f64':
      return /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? text : undefined;
    case 'ref':
    case 'product':
    case 'sum':
    case 'array':
      return undefined;
    default:
      return /^-?\d+$/.test(text) ? text : undefined;
  }
}

function hexLiteral(text: string, digits: number): string | undefined {
  const found = /^(?:0x)?([0-9a-f]+)$/i.exec(text)?.[1];
  return found?.length === digits ? `0x${found}` : undefined;
}

function quotedText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
