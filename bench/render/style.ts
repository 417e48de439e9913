/** The style sheet of the report: the reader's fonts, light and dark. */
export const STYLE = `
:root { color-scheme: light dark; --page: #ffffff; --text: #1c2330; --strong: #39424f; --muted: #8a94a3; --rule: #dde2ea;
  --good: #18794e; --bad: #b3261e; --panel: #f6f8fb; }
@media (prefers-color-scheme: dark) {
  :root { --page: #12161d; --text: #dfe5ee; --strong: #c3ccd9; --muted: #7f8a9b; --rule: #2b323e; --good: #4cc38a;
    --bad: #ff8a80; --panel: #1a2029; }
}
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 1000px; margin: 0 auto; padding: 24px 20px 64px; }
h1 { font-size: 28px; margin: 8px 0 0; }
h2 { font-size: 20px; margin: 44px 0 4px; border-top: 1px solid var(--rule); padding-top: 20px; }
p { margin: 8px 0 14px; max-width: 80ch; }
nav { display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 14px; }
a { color: inherit; }
.caution { background: var(--panel); border-left: 4px solid #d99a1c; padding: 8px 14px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; margin: 8px 0; }
th, td { text-align: left; padding: 5px 16px 5px 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.whole { white-space: nowrap; }
.pass { color: var(--good); font-weight: 600; }
.short { color: var(--bad); font-weight: 600; }
.unmeasured, small { color: var(--muted); }
code { font-size: 13px; }
details { margin: 6px 0; }
summary { cursor: pointer; font-size: 14px; color: var(--muted); }
svg { display: block; width: 100%; height: auto; font: 12px system-ui, sans-serif; }
svg .grid { stroke: var(--rule); stroke-width: 1; }
svg .spread { stroke: var(--text); stroke-width: 1.5; }
svg .tick { fill: var(--muted); font-size: 11px; }
svg .label, svg .value { fill: var(--text); }
svg .value { font-variant-numeric: tabular-nums; }
svg .group { fill: var(--text); font-weight: 600; font-size: 13px; }
`;
