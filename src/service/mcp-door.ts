import type { PageRules } from '../auth/page-rules.ts';
import type { Host } from '../host/host.ts';
import { inSlices } from '../host/slices.ts';
import type { McpDoor, McpRules } from '../http/mcp.ts';
import { makeDefinition } from '../mcp/definition.ts';
import { type McpSession, makeSession } from '../mcp/session.ts';
import { Engine } from '../mcp-protocol/engine.ts';
import { parseJsonSteps } from '../values/json.ts';
import type { ServiceConfiguration } from './configuration.ts';
import type { ServiceLog } from './service-log.ts';
import { guideDirectory, productVersion } from './version.ts';

export interface McpDoorOptions {
  readonly host: Host;
  readonly log: ServiceLog;
  readonly stopping: AbortSignal;
}

/** The MCP server of a service: the engine of the protocol, with this product's definition. */
export function makeMcpDoor({ host, log, stopping }: McpDoorOptions): McpDoor {
  const engine = new Engine<McpSession>({
    definition: makeDefinition({ version: productVersion, guideDirectory }),
    onError: (error, method) => log.failure(error, `answering ${method} over MCP`),
    stopping,
  });
  return {
    handle: ({ body, header, caller, database, features, signal, countMore }) => {
      const { identity, isAnonymous, address } = caller;
      // Identities made for one request are told apart by where they come from.
      const key = isAnonymous ? `anonymous ${address ?? ''}` : identity.toString(16);
      const session = makeSession({ host, caller, callerKey: key, database, features });
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

/** Who comes by the public address is no stranger, also when a proxy passes its name on. */
export function pageRulesOf({ publicUrl, ...given }: ServiceConfiguration): PageRules {
  const own = publicUrl === undefined ? [] : [new URL(publicUrl)];
  return {
    // A name that is the service's for agents is its name for everyone.
    hosts: [...given.allowedHosts, ...given.mcpHosts, ...own.map(({ hostname }) => hostname)],
    origins: [...given.allowedOrigins, ...own.map(({ origin }) => origin)],
  };
}

/** Pages may be let in to MCP alone. */
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
