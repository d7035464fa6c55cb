import type { Readable } from 'reducerdb/client';
import { createSubscriber } from 'svelte/reactivity';

/**
 * A store of the client as a rune, such as a watched query: `follow(client.watch(…))`. It is
 * subscribed to while an effect or a template reads `current`.
 */
export function follow<T>(store: Readable<T>): { readonly current: T } {
  const subscribe = createSubscriber((update) => store.subscribe(update));
  return {
    get current() {
      subscribe();
      return store.get();
    },
  };
}
