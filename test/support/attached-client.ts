import type { RequestCaller } from '../../src/auth/caller.ts';
import type {
  AttachedAnswer,
  AttachedClient,
  AttachedEnd,
  AttachedRequest,
  Attachment,
  LeaderLine,
} from '../../src/host/replication/leader-line.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { encodeValue } from '../../src/values/encode.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import type { ClusterService } from './cluster-services.ts';

const oneText = {
  kind: 'product',
  elements: [{ name: 'text', type: { kind: 'string' } }],
} as const;

/** A client that is attached to a host, as the door of that host has it. */
export class AttachedTester {
  readonly id: bigint;
  readonly ends: AttachedEnd[] = [];
  /** Texts of what was called, with what came of it. */
  readonly told: string[] = [];
  /** How often it was told that it is connected. */
  connected = 0;
  readonly #attachment: Attachment;
  #last = 0;

  constructor(
    at: ClusterService,
    database: DatabaseIdentity,
    given: Pick<AttachedClient, 'caller' | 'isConnected'> & { readonly id: bigint },
  ) {
    this.id = given.id;
    const { leaderLine } = at.part.forHost;
    if (leaderLine === undefined) throw new Error('a host of a cluster has a way to leaders');
    this.#attachment = attach(leaderLine, {
      ...{ database, connectionId: connectionNumber(given.id), caller: given.caller },
      ...{ confirmed: true, protocol: 'v2.bsatn.spacetimedb', sinceMillis: Date.now() },
      ...(given.isConnected === true && { isConnected: true }),
      connected: () => void this.connected++,
      answered: (request, answer) => this.told.push(`${textOf(request)} ${shown(answer)}`),
      ended: (end) => this.ends.push(end),
    });
  }

  get unanswered(): number {
    return this.#attachment.unanswered;
  }

  call(reducer: string, text: string): void {
    this.#last += 1;
    const args = encodeValue(oneText, [text]);
    const asked = { requestId: this.#last, reducer, args, schemaVersion: undefined };
    this.#attachment.send(Object.assign({ kind: 'call', ...asked } as const, { text }));
  }

  close(): void {
    this.#attachment.close();
  }
}

function attach(
  line: LeaderLine,
  { connected, answered, ended, ...client }: AttachedClient & Parameters<LeaderLine['attach']>[1],
): Attachment {
  return line.attach(client, { connected, answered, ended });
}

function textOf(request: AttachedRequest): string {
  return (request as { readonly text?: string }).text ?? '';
}

function shown(answer: AttachedAnswer): string {
  switch (answer.kind) {
    case 'called':
      return answer.outcome.kind === 'committed' ? 'committed' : answer.outcome.error.code;
    case 'procedure':
      return answer.outcome.kind;
    default:
      return `${answer.kind} ${answer.body.code}`;
  }
}

/** A caller with a token of the cluster. */
export async function settledCaller({ service }: ClusterService): Promise<RequestCaller> {
  return { ...(await service.tokens.issue()), isAnonymous: false };
}
