import { describe, expect, it } from 'vitest';
import {
  bytesType,
  connectionIdType,
  identityType,
  optionType,
  timestampType,
  uuidType,
} from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { sqlLiteral } from './sql-literal.ts';

const identity = 'c2'.repeat(32);

describe('the literal of a value in an address', () => {
  const literals: [AlgebraicType, string, string | undefined][] = [
    [{ kind: 'string' }, "it's; --", "'it''s; --'"],
    [{ kind: 'u64' }, '18446744073709551615', '18446744073709551615'],
    [{ kind: 'i8' }, '-5', '-5'],
    [{ kind: 'u8' }, '1 OR 1', undefined],
    [{ kind: 'u8' }, '1e3', undefined],
    [{ kind: 'f64' }, '-1.5e10', '-1.5e10'],
    [{ kind: 'f64' }, '1;', undefined],
    [{ kind: 'bool' }, 'true', 'TRUE'],
    [{ kind: 'bool' }, 'TRUE OR TRUE', undefined],
    [identityType, identity, `0x${identity}`],
    [identityType, `0x${identity}`, `0x${identity}`],
    [identityType, 'c2', undefined],
    [connectionIdType, 'ab'.repeat(16), `0x${'ab'.repeat(16)}`],
    [bytesType, '0xab12', "X'ab12'"],
    [bytesType, 'ab1', undefined],
    [timestampType, "2025-02-17' OR '1", "'2025-02-17'' OR ''1'"],
    [uuidType, '018867c5-d400-7321-8a9b-0c1d2e3f4051', "'018867c5-d400-7321-8a9b-0c1d2e3f4051'"],
    [optionType({ kind: 'u8' }), '1', undefined],
    [{ kind: 'product', elements: [] }, '1', undefined],
  ];

  it.each(literals)('[mcp B7] of %j %j is %j', (type, text, literal) => {
    expect(sqlLiteral(type, text)).toBe(literal);
  });
});
