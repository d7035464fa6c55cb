import type { RefusalBody } from '../../database/outcome.ts';

/** A change of the registry that one host asks the leader of the registry for. */
export interface RegistryChange {
  readonly reducer: string;
  readonly args: Uint8Array;
  /** The offset up to which the host knew the registry when it decided on the change. */
  readonly after: number;
}

/** What the leader of the registry answers. All but `done` say that nothing was done. */
export type RegistryAnswer =
  | { readonly kind: 'done'; readonly offset: number }
  /** It was changed up to `offset` since: the host has to decide again. */
  | { readonly kind: 'stale'; readonly offset: number }
  | { readonly kind: 'notLeader' }
  | { readonly kind: 'refused'; readonly body: Pick<RefusalBody, 'code' | 'message'> };
