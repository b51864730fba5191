import type { OperatedTeam } from '@svc/sdk/operator';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Audit } from './audit/audit.js';
import { listTeams } from './connection/clients.js';
import { usePoll } from './connection/use-poll.js';
import { visibleText } from './format/visible-text.js';
import { Keys, useKeys } from './keys.js';
import { Empty, Failure, Loading } from './parts/notice.js';
import { applyTheme, readTheme, type Theme, themes } from './parts/theme.js';
import { formatRoute, type Route, type View } from './router/route.js';
import { goTo, useRoute } from './router/use-route.js';
import { Sandbox } from './sandbox/sandbox.js';
import { signOut } from './session/session.js';
import { Team } from './team/team.js';
import { Sandboxes } from './views/sandboxes.js';
import { Secrets } from './views/secrets.js';
import { Server } from './views/server.js';
import { Teams } from './views/teams.js';
import { Template } from './views/template.js';
import { Templates } from './views/templates.js';
import { Volumes } from './views/volumes.js';
import { Webhook } from './views/webhook.js';
import { Webhooks } from './views/webhooks.js';

const names: Record<View, string> = {
  sandboxes: 'Sandboxes',
  templates: 'Templates',
  volumes: 'Volumes',
  secrets: 'Secrets',
  webhooks: 'Webhooks',
  server: 'Server',
  teams: 'Teams',
  audit: 'Audit',
};

/** Navigation, the choice of the team, and what is looked at. */
export function Shell() {
  const route = useRoute();
  const teams = usePoll('teams', 30_000, listTeams);
  const [helping, setHelping] = useState(false);
  const main = useRef<HTMLElement>(null);
  const team = route.team ?? teams.value?.[0]?.slug;
  const go = (view: View) => goTo(formatRoute({ team, view }));
  useKeys({ go, help: () => setHelping(true) });
  const title = route.id ?? names[route.view];
  useEffect(() => {
    document.title = `${title} – svc`;
  }, [title]);
  useEffect(() => {
    scrollTo(0, 0);
  }, [route.view, route.id, route.tab, team]);
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header>
        <span class="brand">svc</span>
        <nav aria-label="Views">
          {Object.entries(names).map(([view, name]) => (
            <a
              key={view}
              href={formatRoute({ team, view: view as View })}
              aria-current={route.view === view ? 'page' : undefined}
            >
              {name}
            </a>
          ))}
        </nav>
        <div class="tools">
          <label>
            <span class="faint">Team </span>
            <select
              value={team}
              onChange={(event) => {
                const chosen = event.currentTarget.value;
                // A reader who looks at one team wants to see the other.
                const id = route.view === 'teams' && route.id !== undefined ? chosen : undefined;
                goTo(formatRoute({ team: chosen, view: route.view, id }));
              }}
            >
              {(teams.value ?? []).map(({ slug, name }) => (
                <option key={slug} value={slug}>
                  {slug === name ? slug : `${visibleText(name, 40)} (${slug})`}
                </option>
              ))}
            </select>
          </label>
          <ThemeChoice />
          <button type="button" onClick={() => setHelping(true)}>
            Keys
          </button>
          <button type="button" onClick={() => void signOut()}>
            Sign out
          </button>
        </div>
      </header>
      <main ref={main} tabIndex={-1} id="main">
        <Failure error={teams.error} />
        {team !== undefined ? (
          <Content key={team} team={team} teams={teams.value ?? []} route={route} />
        ) : teams.value !== undefined ? (
          <Empty title="There is no team yet">
            <p>
              Make one with <code>svc team create NAME</code>.
            </p>
          </Empty>
        ) : teams.error === undefined ? (
          <Loading />
        ) : null}
      </main>
      {helping && <Keys onClose={() => setHelping(false)} />}
    </div>
  );
}

function Content(props: { team: string; teams: readonly OperatedTeam[]; route: Route }) {
  const { team, teams, route } = props;
  const { id, tab, query } = route;
  switch (route.view) {
    case 'sandboxes':
      if (id !== undefined) return <Sandbox key={id} team={team} id={id} tab={tab} />;
      return <Sandboxes team={team} query={query} />;
    case 'templates':
      if (id !== undefined) return <Template key={id} team={team} id={id} buildId={tab} />;
      return <Templates team={team} />;
    case 'volumes':
      return <Volumes team={team} />;
    case 'secrets':
      return <Secrets team={team} />;
    case 'webhooks':
      if (id !== undefined) return <Webhook key={id} team={team} id={id} />;
      return <Webhooks team={team} />;
    case 'server':
      return <Server />;
    case 'teams':
      if (id !== undefined) return <Team key={id} id={id} tab={tab} />;
      return <Teams />;
    case 'audit':
      return <Audit team={team} teams={teams} query={query} />;
  }
}

function ThemeChoice() {
  const [theme, setTheme] = useState<Theme>(readTheme);
  return (
    <label>
      <span class="faint">Theme </span>
      <select
        value={theme}
        onChange={(event) => {
          const chosen = event.currentTarget.value as Theme;
          setTheme(chosen);
          applyTheme(chosen);
        }}
      >
        {themes.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    </label>
  );
}
