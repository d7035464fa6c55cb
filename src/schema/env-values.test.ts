import { describe, expect, it } from 'vitest';
import type { ScalarKind } from '../values/type.ts';
import type { EnvDefinition } from './definition.ts';
import { envFault, valueFault } from './env-faults.ts';
import { convertEnv } from './env-values.ts';

const of = (name: string, kind: ScalarKind, more: Partial<EnvDefinition> = {}): EnvDefinition => {
  return { name, kind, isSecret: false, isOptional: false, ...more };
};

describe('values of the configuration', () => {
  it.each<[ScalarKind, string, unknown]>([
    ['string', '', ''],
    ['string', ' a\n', ' a\n'],
    ['bool', 'true', true],
    ['bool', 'false', false],
    ['u8', '255', 255],
    ['i8', '-128', -128],
    ['u32', '007', 7],
    ['i64', '-9223372036854775808', -(2n ** 63n)],
    ['u256', String(2n ** 256n - 1n), 2n ** 256n - 1n],
    ['f64', '-1.5e3', -1500],
    ['f64', '.5', 0.5],
    ['f32', '0.1', Math.fround(0.1)],
  ])('[living 4.2] %s reads %j', (kind, text, value) => {
    expect(convertEnv(kind, text)).toEqual({ value });
  });

  it.each<[ScalarKind, string, string]>([
    ['bool', 'yes', '`true` or `false`'],
    ['bool', 'TRUE', '`true` or `false`'],
    ['u8', '256', 'a whole number from 0 to 255'],
    ['u8', '-1', 'a whole number from 0 to 255'],
    ['u8', '', 'a whole number from 0 to 255'],
    ['u8', '1.0', 'a whole number from 0 to 255'],
    ['u8', ' 1', 'a whole number from 0 to 255'],
    ['u8', '0x1', 'a whole number from 0 to 255'],
    ['u256', '9'.repeat(60_000), `a whole number from 0 to ${2n ** 256n - 1n}`],
    ['f64', '', 'a decimal number'],
    ['f64', '1e999', 'a decimal number'],
    ['f64', 'NaN', 'a decimal number'],
    ['f64', 'Infinity', 'a decimal number'],
    ['f32', '1e39', 'a decimal number'],
    ['f64', '1'.repeat(60_000), 'a decimal number'],
  ])('[living 4.2] %s does not read %.20j', (kind, text, fault) => {
    expect(convertEnv(kind, text)).toEqual({ fault });
  });

  it('[living 4.2] all missing names are named, with what sets them', () => {
    const declared = [of('KEY', 'string', { isSecret: true }), of('PORT', 'u16')];
    const optional = of('NOTE', 'string', { isOptional: true });
    expect(envFault([...declared, optional], { values: {}, secrets: [] })).toEqual({
      kind: 'missing',
      message:
        'The program declares values that are not set for its database: `KEY` (secret), ' +
        '`PORT` (u16). Set them as you publish: ' +
        'reducerdb publish … --set-secret KEY --set-env PORT=VALUE',
    });
    const set = { values: { PORT: '80', toString: '1' }, secrets: ['KEY'] };
    expect(envFault([...declared, optional], set)).toBeUndefined();
    expect(envFault([of('CONSTRUCTOR', 'u8')], { values: {}, secrets: [] })?.kind).toBe('missing');
  });

  it('[living 4.2] values that do not fit are named, and never quoted', () => {
    const declared = [of('PORT', 'u16'), of('RATE', 'f64', { isOptional: true })];
    const fault = envFault(declared, { values: { PORT: 'canary', RATE: 'canary' }, secrets: [] });
    expect(fault).toEqual({
      kind: 'wrong',
      message:
        '`PORT` is declared as u16: its value must be a whole number from 0 to 65535\n' +
        '`RATE` is declared as optional f64: its value must be a decimal number',
    });
  });

  it('[living 4.2] a secret is no plain value, nor the other way round', () => {
    const secret = of('KEY', 'string', { isSecret: true });
    expect(valueFault(secret, true, undefined)).toBeUndefined();
    expect(valueFault(secret, false, 'x')).toBe(
      '`KEY` is set as a plain value, and the program declares it as a secret. ' +
        'Set it as you publish: reducerdb publish … --set-secret KEY',
    );
    expect(valueFault(of('KEY', 'string'), true, undefined)).toBe(
      '`KEY` is set as a secret, and the program declares it as a plain value. ' +
        'Set it as you publish: reducerdb publish … --set-env KEY=VALUE',
    );
  });
});
