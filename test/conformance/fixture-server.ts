import { mkdtempSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ClientAddresses } from '../../src/auth/client-address.ts';
import { HostTokens } from '../../src/auth/host-tokens.ts';
import { Issuers } from '../../src/auth/issuers.ts';
import { keyFilesIn, loadKeys } from '../../src/auth/keys.ts';
import { RateLimiter } from '../../src/auth/rate-limiter.ts';
import { mcpRoutes } from '../../src/http/mcp.ts';
import { makeRouter } from '../../src/http/router.ts';
import { Engine } from '../../src/mcp-protocol/engine.ts';
import { writeFileAtomically } from '../../src/node/atomic-file.ts';
import {
  completeConfiguration,
  type ServiceConfiguration,
} from '../../src/service/configuration.ts';
import { DescriptorReserve } from '../../src/service/descriptor-reserve.ts';
import { type Handler, listen } from '../../src/service/listener.ts';
import { mcpRulesOf } from '../../src/service/mcp-door.ts';
import { makeFixtures } from './fixture-definition.ts';

/**
 * The engine of the protocol and the HTTP door of the product, with fixtures in the place of
 * databases. Everything of a service that has nothing to do with MCP is left out.
 */
export class FixtureServer {
  readonly url: string;
  readonly #server: Server;
  readonly #stopping: AbortController;
  readonly #folder: string;

  private constructor(server: Server, stopping: AbortController, folder: string) {
    this.#server = server;
    this.#stopping = stopping;
    this.#folder = folder;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/mcp`;
  }

  static async start(onError: (error: unknown) => void): Promise<FixtureServer> {
    const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-fixtures-'));
    const configuration = completeConfiguration({ listen: { host: '127.0.0.1', port: 0 } });
    const tokens = await makeTokens(folder);
    const stopping = new AbortController();
    const handler = makeHandler({ configuration, tokens, stopping: stopping.signal, onError });
    const addresses = new ClientAddresses([]);
    const server = await listen({
      configuration,
      addresses,
      handler,
      descriptors: new DescriptorReserve(),
      report: onError,
    });
    return new FixtureServer(server, stopping, folder);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#folder, { recursive: true });
  }
}

async function makeTokens(folder: string): Promise<HostTokens> {
  return new HostTokens(await loadKeys(keyFilesIn(folder), writeFileAtomically), {
    issuer: 'localhost',
    lifeSeconds: undefined,
    issuers: new Issuers({ allowsLoopback: false, allowsPrivate: false }),
    isRevoked: () => false,
  });
}

interface HandlerOptions {
  readonly configuration: ServiceConfiguration;
  readonly tokens: HostTokens;
  readonly stopping: AbortSignal;
  readonly onError: (error: unknown) => void;
}

function makeHandler({ configuration, tokens, stopping, onError }: HandlerOptions): Handler {
  const engine = new Engine({ definition: makeFixtures(), onError, stopping });
  const routes = mcpRoutes(
    {
      databaseIn: () => undefined,
      namesRows: () => false,
      handle: ({ body, header, caller, signal }) => {
        const key = caller.address ?? '';
        return engine.handle({
          ...{ body, header, signal },
          caller: { key, isAnonymous: true },
          session: {},
          endpoint: '',
        });
      },
    },
    mcpRulesOf(configuration),
  );
  const unlimited = new RateLimiter(Number.POSITIVE_INFINITY);
  const router = makeRouter({
    routes,
    tokens,
    addresses: new ClientAddresses([]),
    rates: { byIdentity: unlimited, byAddress: unlimited, ofGivenUpTokens: unlimited },
    pages: { hosts: [], origins: [] },
    bounds: configuration.bounds,
    onAnswer: () => undefined,
    onTurnedAway: () => undefined,
    onError,
  });
  return router.fetch as Handler;
}
