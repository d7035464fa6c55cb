import { callerOf, type HttpContext } from './context.ts';
import { type Exchange, json, type Reply } from './exchange.ts';
import type { Route } from './route.ts';

/**
 * What this service can do, beyond what every service can. The console shows pages of these only.
 */
export const serviceFeatures = [
  'audit',
  'backups',
  'bindings',
  'connections',
  'deploy-schemas',
  'deploys',
  'env',
  'export',
  'ledger',
  'metrics',
  'preview',
  'quotas',
  'rights',
  'schedules',
  'settings',
  'source',
  'tokens',
] as const;

export function serviceRoutes(context: HttpContext): Route[] {
  return [
    {
      path: '/v1/service',
      methods: { GET: { token: 'optional', run: () => describeService(context) } },
    },
    {
      path: '/v1/service/settings',
      methods: { GET: { token: 'required', run: (exchange) => settings(exchange, context) } },
    },
  ];
}

/** `GET /v1/service`: what kind of service this is. */
async function describeService(context: HttpContext): Promise<Reply> {
  const { version, console, facts, templates, host } = context;
  const hasTemplates = (await templates.list()).length > 0;
  const ofThisOne = [
    ...(host.history.isKept ? ['row-history'] : []),
    ...(hasTemplates ? ['templates'] : []),
    ...(isForDevelopment(facts) ? ['development'] : []),
  ];
  const body = {
    version,
    started_at: facts.startedAt,
    features: [...serviceFeatures, ...ofThisOne],
    issuers: facts.issuers,
    apps_domain: facts.appsDomain ?? null,
    console,
  };
  return json(200, JSON.stringify(body), { 'cache-control': 'no-cache' });
}

/** Such a service is run for one project; commands elsewhere do not log in there unasked. */
function isForDevelopment({ settings }: HttpContext['facts']): boolean {
  return settings.some(({ name, value }) => name === 'development' && String(value) === 'true');
}

/** `GET /v1/service/settings`: the settings in force, for operators. */
function settings(exchange: Exchange, { host, facts }: HttpContext): Reply {
  host.access.requireOperator(callerOf(exchange), 'view settings');
  const body = JSON.stringify({ settings: facts.settings });
  return json(200, body, { 'cache-control': 'no-store' });
}
