import { describe, expect, it } from 'vitest';
import { moduleOf, problemsOf, reducer, text, u32 } from '../../test/schema/module-builder.ts';
import { DecodeError } from '../values/binary-reader.ts';
import { product } from '../values/special-types.ts';
import { decodeRawModule } from './decode-raw-module.ts';
import { encodeRawModuleV10 } from './encode-raw-module.ts';
import { flatDefinition } from './flat-definition.ts';
import type { RawModule, RawParamDefault } from './raw-module.ts';
import { schemaJsonV10 } from './schema-json-v10.ts';
import { validateModule } from './validate.ts';

const params = product(['what', text], ['count', u32]);
const five = Uint8Array.of(5, 0, 0, 0);
const count: RawParamDefault = { functionName: 'addAll', param: 1, value: five };

const moduleWith = (paramDefaults: readonly RawParamDefault[], parts: Partial<RawModule> = {}) =>
  moduleOf([], { reducers: [{ ...reducer('addAll'), params }], paramDefaults, ...parts });

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

describe('[ease 2.3] defaults of parameters in a definition', () => {
  it('follow its sections', () => {
    const raw = moduleWith([count]);
    const bytes = encodeRawModuleV10(raw);
    expect(decodeRawModule(bytes)).toEqual(raw);
    const extension = `52444258 01
      09 1c000000 01000000 00000000 06000000 616464416c6c 0100 04000000 05000000`;
    expect(hexOf(bytes.subarray(-38))).toBe(extension.replace(/\s/g, ''));
    const none = encodeRawModuleV10(moduleWith([]));
    expect(hexOf(none)).toBe(hexOf(bytes.subarray(0, -38)));
  });

  it('are those of submodules as well, each with its namespaces', () => {
    const inner = moduleWith([count]);
    const outer = moduleWith([], { submodules: [{ namespace: 'b', module: inner }] });
    const raw = moduleWith([count], { submodules: [{ namespace: 'a', module: outer }] });
    const bytes = encodeRawModuleV10(raw);
    expect(decodeRawModule(bytes)).toEqual(raw);
    expect(hexOf(bytes)).toContain('02000000 01000000 61 01000000 62'.replaceAll(' ', ''));
    const { reducers } = flatDefinition(validateModule(raw));
    expect(reducers.map(({ name, paramDefaults }) => [name, paramDefaults])).toEqual([
      ['add_all', [undefined, five]],
      ['a.add_all', undefined],
      ['a.b.add_all', [undefined, five]],
    ]);
    const stray = encodeRawModuleV10({ ...raw, submodules: [] });
    const lost = Uint8Array.of(...stray.subarray(0, -33), ...bytes.subarray(-71));
    expect(() => decodeRawModule(lost)).toThrow(DecodeError);
  });

  it.each<[string, Partial<RawParamDefault>, string]>([
    [
      'another function',
      { functionName: 'none' },
      'parameter default of `none`: there is no such function',
    ],
    [
      'another parameter',
      { param: 2 },
      'default of parameter `2` of `add_all`: there is no such parameter',
    ],
    ['another type', { param: 0 }, 'default of parameter `0` of `add_all`: '],
    ['bytes left over', { value: Uint8Array.of(...five, 0) }, '1 bytes left over'],
  ])('are refused with %s', (_, parts, message) => {
    const [problem, ...others] = problemsOf(moduleWith([{ ...count, ...parts }]));
    expect(problem).toContain(message);
    expect(others).toEqual([]);
  });

  it('are refused twice for one parameter', () => {
    expect(problemsOf(moduleWith([count, count]))).toEqual([
      'default of parameter `1` of `add_all`: it has two',
    ]);
  });

  it('are in the JSON of the schema, and only if there are any', () => {
    const shown = String(schemaJsonV10(validateModule(moduleWith([count]))));
    const section = '{"ParamDefaults":[{"function_name":"add_all","param":1,"value":"05000000"}]}';
    expect(shown).toContain(section);
    expect(String(schemaJsonV10(validateModule(moduleWith([]))))).not.toContain('ParamDefaults');
  });
});
