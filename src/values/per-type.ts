import type { AlgebraicType, Typespace } from './type.ts';
import { emptyTypespace } from './type.ts';

/**
 * Compiles something once per type *object* (and typespace) and keeps it as long as both live.
 * Types are immutable, so object identity is enough; equal types in two objects compile twice.
 */
export function perType<Compiled>(
  compile: (type: AlgebraicType, typespace: Typespace) => Compiled,
): (type: AlgebraicType, typespace?: Typespace) => Compiled {
  const compiled = new WeakMap<Typespace, WeakMap<AlgebraicType, Compiled>>();
  return (type, typespace = emptyTypespace) => {
    let ofTypespace = compiled.get(typespace);
    if (ofTypespace === undefined) {
      ofTypespace = new WeakMap();
      compiled.set(typespace, ofTypespace);
    }
    let result = ofTypespace.get(type);
    if (result === undefined) {
      result = compile(type, typespace);
      ofTypespace.set(type, result);
    }
    return result;
  };
}
