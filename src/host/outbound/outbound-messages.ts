import type { MessagePort } from 'node:worker_threads';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { HostFigures } from './host-counts.ts';
import type { OutboundRules } from './outbound-rules.ts';

/** Which databases the names stand for that the rules mention. */
export type KnownNames = ReadonlyMap<string, DatabaseIdentity>;

/** The data that the thread is started with. */
export interface OutboundStart {
  readonly rules: OutboundRules;
  readonly nameServers: readonly string[] | undefined;
  readonly names: KnownNames;
  /** Of threads before it, which it goes on with. */
  readonly figures: readonly HostFigures[];
  /** From where niceness counts; see `baseNiceness`. */
  readonly niceness: number;
}

/** Gateway to thread. */
export type ToOutbound =
  | {
      readonly kind: 'open';
      readonly way: number;
      readonly database: DatabaseIdentity;
      readonly lanes: number;
      readonly port: MessagePort;
      /** See `RequestWay`. */
      readonly answers: SharedArrayBuffer;
    }
  | { readonly kind: 'replaced'; readonly way: number }
  | { readonly kind: 'close'; readonly way: number }
  | { readonly kind: 'forget'; readonly database: DatabaseIdentity }
  /** Answered by `done`, as is the next one. */
  | { readonly kind: 'names'; readonly names: KnownNames }
  | { readonly kind: 'askFigures' };

/** Thread to gateway. */
export type FromOutbound =
  /** It has closed this way. */
  | { readonly kind: 'broken'; readonly way: number; readonly message: string }
  /** See `OutboundOptions`. */
  | { readonly kind: 'refused'; readonly database: DatabaseIdentity; readonly host: string }
  | { readonly kind: 'figures'; readonly figures: readonly HostFigures[] }
  /** The oldest message that is answered by this is done. */
  | { readonly kind: 'done' };
