import type { PageEntry } from '../shell/page-entry.ts';

/** Every page of the console, in the order of the navigation. Each is loaded when it is opened. */
export const pages: readonly PageEntry[] = [
  {
    id: 'host',
    title: 'Databases',
    icon: 'host',
    scope: 'host',
    group: 'Host',
    path: '',
    load: () => import('./host/host-page.tsx'),
  },
  {
    id: 'service-metrics',
    title: 'Metrics',
    icon: 'chart',
    scope: 'host',
    group: 'Host',
    path: 'metrics',
    feature: 'metrics',
    load: () => import('./metrics/metrics-page.tsx'),
  },
  {
    id: 'data',
    title: 'Data',
    icon: 'table',
    scope: 'database',
    group: 'Explore',
    path: 'data',
    load: () => import('./data/data-page.tsx'),
  },
  {
    id: 'schema',
    title: 'Schema',
    icon: 'schema',
    scope: 'database',
    group: 'Change',
    path: 'schema',
    load: () => import('./schema/schema-page.tsx'),
  },
  {
    id: 'metrics',
    title: 'Metrics',
    icon: 'chart',
    scope: 'database',
    group: 'Manage',
    path: 'metrics',
    feature: 'metrics',
    right: 'view_metrics',
    load: () => import('./metrics/metrics-page.tsx'),
  },
];
