import type { Readable } from 'reducerdb/client';
import { onScopeDispose, type ShallowRef, shallowRef } from 'vue';

/**
 * A store of the client as a ref, such as a watched query: `useStore(client.watch(…))`. It is
 * followed until the component is unmounted.
 */
export function useStore<T>(store: Readable<T>): Readonly<ShallowRef<T>> {
  const value = shallowRef(store.get());
  onScopeDispose(
    store.subscribe(() => {
      value.value = store.get();
    }),
  );
  return value;
}
