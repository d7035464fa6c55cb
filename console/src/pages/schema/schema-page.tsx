import { PageFrame } from '../../parts/page.tsx';
import { WhenLoaded } from '../../parts/state.tsx';
import { type Tab, Tabs } from '../../parts/tabs.tsx';
import { useDatabase, useService } from '../../shell/database-context.tsx';
import { useParam } from '../../shell/router.tsx';
import { Bindings } from './bindings.tsx';
import { Diagram } from './diagram.tsx';
import { Differences } from './differences.tsx';
import { FunctionList } from './function-list.tsx';
import { TableList } from './table-list.tsx';

type View = 'tables' | 'functions' | 'diagram' | 'differences' | 'bindings';

/** What a database declares: as a list, as a diagram, between two deploys, and for its clients. */
export function Page() {
  const { database, schema } = useDatabase();
  const service = useService();
  const [view, setView] = useParam('view', 'tables');
  const tabs = tabsOf(service?.features ?? new Set());
  const chosen = tabs.find(({ id }) => id === view)?.id ?? 'tables';
  return (
    <PageFrame title="Schema" about="What the running program declares, as far as you may see it.">
      <Tabs label="Views of the schema" tabs={tabs} chosen={chosen} onChoose={setView} />
      {chosen === 'differences' && <Differences database={database} />}
      {chosen === 'bindings' && <Bindings database={database} />}
      {chosen !== 'differences' && chosen !== 'bindings' && (
        <WhenLoaded of={schema}>
          {(loaded) => {
            if (chosen === 'functions') return <FunctionList functions={loaded.functions} />;
            if (chosen === 'diagram') return <Diagram schema={loaded} database={database} />;
            return <TableList schema={loaded} database={database} />;
          }}
        </WhenLoaded>
      )}
    </PageFrame>
  );
}

/** Views that the service has nothing for are left out. */
function tabsOf(features: ReadonlySet<string>): readonly Tab<View>[] {
  const all: readonly (Tab<View> & { readonly feature?: string })[] = [
    { id: 'tables', label: 'Tables' },
    { id: 'functions', label: 'Functions' },
    { id: 'diagram', label: 'Diagram' },
    { id: 'differences', label: 'Differences', feature: 'deploy-schemas' },
    { id: 'bindings', label: 'Bindings', feature: 'bindings' },
  ];
  return all.filter(({ feature }) => feature === undefined || features.has(feature));
}
