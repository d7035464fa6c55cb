import { expect, it } from 'vitest';
import { personModule } from '../../test/schema/module-builder.ts';
import { limits } from '../limits.ts';
import type { AlgebraicType } from '../values/type.ts';
import type { RawEnvName } from './raw-module.ts';
import { validateModule } from './validate.ts';

const plain = (name: string, type: AlgebraicType = { kind: 'string' }): RawEnvName => {
  return { name, type, isSecret: false, isOptional: false };
};

const validate = (...env: readonly RawEnvName[]) => validateModule({ ...personModule, env }).env;

it('[living 4.2] the names that a module reads are kept in order', () => {
  const secret = { ...plain('KEY'), isSecret: true };
  const port = { ...plain('PORT', { kind: 'u16' }), isOptional: true };
  expect(validate(port, secret)).toEqual([
    { name: 'KEY', kind: 'string', isSecret: true, isOptional: false },
    { name: 'PORT', kind: 'u16', isSecret: false, isOptional: true },
  ]);
});

it('[living 4.1] names and types that cannot be are refused, all at once', () => {
  const type: AlgebraicType = { kind: 'array', element: { kind: 'u8' } };
  const wrong = () => {
    return validate(
      plain('lower'),
      plain('A'.repeat(65)),
      plain('_A'),
      plain('LIST', type),
      { ...plain('KEY', { kind: 'u8' }), isSecret: true },
      plain('TWICE'),
      plain('TWICE'),
    );
  };
  const rule = 'begins with a capital letter A-Z, then has at most 63 of A-Z, 0-9 and _';
  expect(wrong).toThrow(`\`lower\` is not a name for env: it ${rule}`);
  expect(wrong).toThrow(`\`${'A'.repeat(65)}\` is not a name for env`);
  expect(wrong).toThrow('`_A` is not a name for env');
  expect(wrong).toThrow('env name `LIST` must be a string, a bool, a number or an option of one');
  expect(wrong).toThrow('env name `KEY` is a secret and must be a string');
  expect(wrong).toThrow('env name `TWICE` is declared twice');
});

it('[living 4.1] a module declares at most 256 names', () => {
  const names = (count: number) => Array.from({ length: count }, (_, at) => plain(`N${at}`));
  expect(validate(...names(limits.envNamesMax))).toHaveLength(256);
  expect(() => validate(...names(257))).toThrow('the module declares 257 env names, more than 256');
});
