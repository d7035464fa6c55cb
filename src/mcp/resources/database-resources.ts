import { Refusal } from '../../database/outcome.ts';
import type { RequestContext } from '../../mcp-protocol/request-context.ts';
import type {
  Resource,
  Resources,
  ResourceTemplate,
  Watch,
  WatchRequest,
} from '../../mcp-protocol/resource.ts';
import { RpcError, rpcCode } from '../../mcp-protocol/rpc-error.ts';
import type { ResourceText } from '../../mcp-protocol/tool.ts';
import { JsonTooLongError } from '../../values/json.ts';
import { databasesJson } from '../listed-databases.ts';
import { findDatabase } from '../open-database.ts';
import { type McpSession, readingOnly } from '../session.ts';
import { shownSchema } from '../shown-schema.ts';
import { type Address, addressOf } from './address.ts';
import type { GuidePages } from './guide-pages.ts';
import { mayReadLog, readLog } from './log-lines.ts';
import { listResources, listTemplates, mimeTypes } from './resource-list.ts';
import { readRows } from './table-rows.ts';
import { ResourceWatch } from './watch.ts';

/** The reading session, and a signal that its client has left. */
type Reading = Pick<RequestContext<McpSession>, 'session' | 'signal'>;

const neverAborted = new AbortController().signal;

/**
 * What agents can read without a tool: databases, schemas, tables, logs, and the guide. A resource
 * that the caller may not read does not exist for it. Nothing is written, not even by lifecycle
 * reducers: otherwise reading a watched table of visitors after each update would cause the next
 * update, forever.
 */
export class DatabaseResources implements Resources<McpSession> {
  readonly #guide: GuidePages;

  constructor(guide: GuidePages) {
    this.#guide = guide;
  }

  async list(session: McpSession): Promise<readonly Resource[]> {
    return listResources(session, (await this.#guide.all()).values());
  }

  async templates(session: McpSession): Promise<readonly ResourceTemplate[]> {
    return listTemplates(session);
  }

  async read(
    uri: string,
    { session, signal }: RequestContext<McpSession>,
  ): Promise<readonly ResourceText[] | undefined> {
    const address = addressOf(uri);
    if (address === undefined) return undefined;
    const text = await this.#readAddress(address, { session: readingOnly(session), signal });
    return text === undefined ? undefined : [{ uri, mimeType: mimeTypes[address.kind], text }];
  }

  watch(request: WatchRequest, asked: McpSession): Promise<Watch> {
    const session = readingOnly(asked);
    return ResourceWatch.open({
      ...{ request, session },
      list: async () => (await this.list(session)).map(({ uri }) => uri),
      read: (address) => this.#readAddress(address, { session, signal: neverAborted }),
    });
  }

  /** Reports faults of a database, but not whether it is missing or hidden from the caller. */
  async #readAddress(address: Address, reading: Reading): Promise<string | undefined> {
    try {
      return await this.#textOf(address, reading);
    } catch (error) {
      const isExpected = error instanceof Refusal || error instanceof JsonTooLongError;
      if (isExpected) throw new RpcError(rpcCode.internal, error.message);
      throw error;
    }
  }

  async #textOf(address: Address, reading: Reading): Promise<string | undefined> {
    switch (address.kind) {
      case 'databases': {
        const { host, caller, database } = reading.session;
        return database === undefined ? databasesJson(host, caller) : undefined;
      }
      case 'page':
        return (await this.#guide.all()).get(address.page)?.text;
      default:
        return readInDatabase(address, reading);
    }
  }
}

async function readInDatabase(
  address: Extract<Address, { database: string }>,
  { session, signal }: Reading,
): Promise<string | undefined> {
  const found = findDatabase(address.database, session);
  if (found === undefined) return undefined;
  switch (address.kind) {
    case 'schema':
      return shownSchema(found, session);
    case 'logs':
      return mayReadLog(session, found.database) ? readLog(session, found.database) : undefined;
    case 'table':
      return readRows(found, address, signal);
  }
}
