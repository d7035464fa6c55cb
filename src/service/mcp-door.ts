import { AppHosts } from '../auth/app-hosts.ts';
import type { PageRules } from '../auth/page-rules.ts';
import { inSlices } from '../doors/slices.ts';
import type { Host } from '../host/host.ts';
import type { McpDoor, McpRules } from '../http/mcp.ts';
import { makeDefinition } from '../mcp/definition.ts';
import { namedDatabase, namesRows } from '../mcp/named-database.ts';
import { type McpSession, makeSession } from '../mcp/session.ts';
import { Engine } from '../mcp-protocol/engine.ts';
import { parseJsonSteps } from '../values/json.ts';
import { ownHostsOf, type ServiceConfiguration } from './configuration.ts';
import type { ServiceLog } from './service-log.ts';
import { guideDirectory, productVersion } from './version.ts';

export interface McpDoorOptions {
  readonly host: Host;
  readonly log: ServiceLog;
  readonly stopping: AbortSignal;
  /** Whether calls wait for durability where nobody asks for it: in a cluster. */
  readonly confirms: boolean;
  /** The name of this host in its cluster; absent: it is alone. */
  readonly hostName: string | undefined;
  /** Bytes of rows in one answer, unless an agent asks for more. */
  readonly answerBytes: number;
}

/** Creates the MCP server of a service: the protocol engine with this product's definition. */
export function makeMcpDoor(options: McpDoorOptions): McpDoor {
  const { host, log, stopping, answerBytes, confirms, hostName } = options;
  const engine = new Engine<McpSession>({
    definition: makeDefinition({ version: productVersion, guideDirectory }),
    onError: (error, method) => log.failure(error, `answering ${method} over MCP`),
    stopping,
  });
  return {
    databaseIn: namedDatabase,
    namesRows,
    handle: ({ body, header, caller, database, features, offer, signal, countMore }) => {
      const { identity, isAnonymous, address } = caller;
      // Anonymous identities exist for one request, so these callers are distinguished by address.
      const key = isAnonymous ? `anonymous ${address ?? ''}` : identity.toString(16);
      const session = makeSession({
        ...{ host, caller, callerKey: key, database, features, answerBytes, confirms },
        ...{ hostName, offer },
      });
      return engine.handle({
        ...{ body, header, signal, countMore },
        parseLarge: (text) => inSlices(parseJsonSteps(text)),
        caller: { key, isAnonymous },
        endpoint: [database ?? '', ...[...session.features].sort()].join(' '),
        session,
      });
    },
  };
}

/** Returns the page rules. Pages at the public address are known, also behind a proxy. */
export function pageRulesOf(
  configuration: ServiceConfiguration,
): Required<PageRules> & { readonly apps: AppHosts } {
  const { publicUrl, allowedOrigins, appsDomain, appHosts } = configuration;
  // A name of the service for agents is its name for everyone.
  const own = ownHostsOf(configuration);
  const bound = new Map(Object.entries(appHosts));
  return {
    hosts: own,
    origins: [...allowedOrigins, ...(publicUrl === undefined ? [] : [new URL(publicUrl).origin])],
    apps: new AppHosts({ domain: appsDomain, bound, own }),
  };
}

/** Returns the MCP rules; some origins can be allowed for MCP only, and no host of an app is. */
export function mcpRulesOf(configuration: ServiceConfiguration): McpRules {
  const { mcpOrigins, publicUrl, issuers, tls } = configuration;
  const { hosts, origins } = pageRulesOf(configuration);
  return {
    origins: { hosts, origins: [...origins, ...mcpOrigins] },
    login: {
      issuers: issuers.accepted?.map(({ issuer }) => issuer) ?? [],
      publicUrl,
      scheme: tls === undefined ? 'http' : 'https',
      isRequired: configuration.mcpLogin,
    },
  };
}
