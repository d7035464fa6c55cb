import type { SeenHost } from '../shared-log/directory.ts';
import type { HostId } from '../shared-log/host-ids.ts';
import { type DatabaseIdentity, databaseIdentity } from '../values/identity-roles.ts';
import type { ForwardAnswer, ForwardRequest, LinkClient } from './link-client.ts';

export interface JobLineOptions {
  readonly client: Pick<LinkClient, 'askHost' | 'forward'>;
  /** The other hosts that live. */
  readonly others: () => readonly SeenHost[];
  /** True if a job runs here, or has run here and is kept. */
  readonly hasJob: (id: string) => boolean;
}

/** A job is known to the host alone that runs it: the others ask, and pass requests on to it. */
export class JobLine {
  readonly #options: JobLineOptions;

  constructor(options: JobLineOptions) {
    this.#options = options;
  }

  /** What this host answers; `undefined`: that is not about jobs. */
  answer(path: string): object | undefined {
    const [, id] = /^job\/([0-9a-f]{32})$/.exec(path) ?? [];
    return id === undefined ? undefined : { has: this.#options.hasJob(id) };
  }

  /** Sends a request to the host that has a job; `undefined`: no host that answers has it. */
  async forward(id: string, request: ForwardRequest): Promise<ForwardAnswer | undefined> {
    const { client, others } = this.#options;
    const asked = others().map(async ({ host, address }) => {
      const answer = await client.askHost(address, `job/${id}`);
      if ((answer as { readonly has?: unknown }).has !== true) throw new Error('not there');
      return { host, address };
    });
    const found = await Promise.any(asked).catch(() => undefined);
    if (found === undefined) return undefined;
    const { head } = request;
    const passed = { ...head, database: placeOfHost(found.host), hops: head.hops + 1 };
    return client.forward(found.address, { ...request, head: passed });
  }
}

/** Stands for a host where a request says whose it is; no database has so small an identity. */
export function placeOfHost(host: HostId): DatabaseIdentity {
  return databaseIdentity(host);
}
