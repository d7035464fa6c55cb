import { PageFrame } from '../../parts/page.tsx';
import { type Tab, Tabs } from '../../parts/tabs.tsx';
import { useDatabase, useService } from '../../shell/database-context.tsx';
import { useParam } from '../../shell/router.tsx';
import { Activity } from './activity.tsx';
import { Audit } from './audit.tsx';
import { Everyone } from './everyone.tsx';
import { Roles } from './roles.tsx';
import { Tokens } from './tokens.tsx';

type View = 'everyone' | 'roles' | 'tokens' | 'activity' | 'audit';

/** Who may do what in a database, and who did. */
export function Page() {
  const { database } = useDatabase();
  const service = useService();
  const [view, setView] = useParam('view', 'everyone');
  const tabs = tabsOf(service?.features ?? new Set());
  const chosen = tabs.find(({ id }) => id === view)?.id ?? 'everyone';
  return (
    <PageFrame title="Access" about="Who may do what in this database, and who did.">
      <Tabs label="Views of access" tabs={tabs} chosen={chosen} onChoose={setView} />
      {chosen === 'everyone' && <Everyone database={database} />}
      {chosen === 'roles' && <Roles database={database} />}
      {chosen === 'tokens' && <Tokens database={database} />}
      {chosen === 'activity' && <Activity database={database} />}
      {chosen === 'audit' && <Audit database={database} />}
    </PageFrame>
  );
}

function tabsOf(features: ReadonlySet<string>): readonly Tab<View>[] {
  const all: readonly (Tab<View> & { readonly feature?: string })[] = [
    { id: 'everyone', label: 'Everyone' },
    { id: 'roles', label: 'Roles', feature: 'rights' },
    { id: 'tokens', label: 'Limited tokens', feature: 'tokens' },
    { id: 'activity', label: 'Who did what', feature: 'ledger' },
    { id: 'audit', label: 'Audit log', feature: 'audit' },
  ];
  return all.filter(({ feature }) => feature === undefined || features.has(feature));
}
