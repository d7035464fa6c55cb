import { moduleHooksKey } from '../../src/protocol/module-abi.ts';
import { encodeRawModuleV10 } from '../../src/schema/encode-raw-module.ts';
import { product } from '../../src/values/special-types.ts';
import { moduleOf, ref, u32, u64 } from '../schema/module-builder.ts';

/** The text of a module with a table `person` that describes a view with parameters, which our library cannot declare. */
export function parameterizedViewModule(): string {
  const view = {
    sourceName: 'nearby',
    index: 0,
    isPublic: true,
    isAnonymous: true,
    params: product(['at', u64]),
    returnType: { kind: 'array' as const, element: ref(0) },
  };
  const raw = moduleOf([{ name: 'person', columns: { id: u32 } }], { views: [view] });
  return `export default {
    [Symbol.for('${moduleHooksKey}')]: () => ({
      __describe_module__: () => new Uint8Array([${encodeRawModuleV10(raw)}]),
      __call_reducer__: () => undefined,
      __sender_error_class__: class extends Error {},
    }),
  };`;
}
