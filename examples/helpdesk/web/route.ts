import { useSyncExternalStore } from 'react';

/** What is shown beside the list. It is in the address, so that one can go back, and send a link. */
export type Route =
  | { readonly kind: 'none' }
  | { readonly kind: 'new' }
  | { readonly kind: 'ticket'; readonly id: bigint };

export function useRoute(): Route {
  return routeOf(useSyncExternalStore(subscribe, () => location.hash));
}

export function goTo(route: Route): void {
  location.hash = hrefOf(route);
}

export function hrefOf(route: Route): string {
  return route.kind === 'ticket' ? `#/tickets/${route.id}` : route.kind === 'new' ? '#/new' : '#/';
}

function routeOf(hash: string): Route {
  if (hash === '#/new') return { kind: 'new' };
  const [, id] = /^#\/tickets\/(\d{1,18})$/.exec(hash) ?? [];
  return id === undefined ? { kind: 'none' } : { kind: 'ticket', id: BigInt(id) };
}

function subscribe(changed: () => void): () => void {
  addEventListener('hashchange', changed);
  return () => removeEventListener('hashchange', changed);
}
