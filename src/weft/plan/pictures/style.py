"""The colours and fonts of SVG pictures, in light and dark mode."""

STYLE = """
text { font-family: ui-sans-serif, system-ui, sans-serif; fill: #1f2933; text-anchor: middle; }
.label { font-size: 13px; font-weight: 600; }
.note { font-size: 11px; fill: #52606d; }
.small { font-size: 10px; fill: #52606d; }
.tokens { font-size: 10px; }
.heading { font-size: 11px; font-weight: 600; fill: #52606d; }
.title { font-size: 16px; font-weight: 600; }
.heading, .title, .begins { text-anchor: start; }
.ends { text-anchor: end; }
.heading, .on-line { paint-order: stroke; stroke: #f5f7fa; stroke-width: 3px; stroke-linejoin: round; }
.paper { fill: #ffffff; }
.cluster rect { fill: #7b8794; fill-opacity: 0.08; stroke: #cbd2d9; }
.node rect, .node circle { fill: #ffffff; stroke: #7b8794; stroke-width: 1.2; }
.slice rect { fill: #e6f0fb; stroke: #4a7fb5; }
.folded rect { fill: #efeafa; stroke: #7a62b8; }
.group rect { fill: #f0f4f8; stroke: #7b8794; }
.plan rect { fill: #334e68; stroke: #334e68; }
.plan text { fill: #ffffff; }
.step rect { fill: #e9f5ec; stroke: #4c9a62; }
.transition rect { fill: #334e68; stroke: #334e68; }
.running circle { fill: #fdf3dc; stroke: #b7862b; }
.pool circle { fill: #efeafa; stroke: #7a62b8; }
.end circle { fill: #e9f5ec; stroke: #4c9a62; }
.edge { fill: none; stroke: #7b8794; stroke-width: 1.4; }
.edge.after { stroke-dasharray: 5 4; }
.edge.contains { stroke: #b0bac5; }
.edge.claim { stroke: #a996d6; stroke-width: 1.1; }
.head path { fill: #7b8794; }
.head.claim path { fill: #a996d6; }
@media (prefers-color-scheme: dark) {
text { fill: #e4e7eb; }
.note, .small, .heading { fill: #9aa5b1; }
.heading, .on-line { stroke: #161b22; }
.paper { fill: #0d1117; }
.cluster rect { fill: #9aa5b1; fill-opacity: 0.08; stroke: #3e4c59; }
.node rect, .node circle { fill: #161b22; stroke: #9aa5b1; }
.slice rect { fill: #14283d; stroke: #5b93cc; }
.folded rect { fill: #251f3a; stroke: #9c86d9; }
.group rect { fill: #1f2933; stroke: #7b8794; }
.plan rect { fill: #9fb3c8; stroke: #9fb3c8; }
.plan text { fill: #102a43; }
.step rect { fill: #14291b; stroke: #5fb878; }
.transition rect { fill: #bcccdc; stroke: #bcccdc; }
.running circle { fill: #332a14; stroke: #d9a441; }
.pool circle { fill: #251f3a; stroke: #9c86d9; }
.end circle { fill: #14291b; stroke: #5fb878; }
.edge { stroke: #7b8794; }
.edge.contains { stroke: #52606d; }
.edge.claim { stroke: #7a62b8; }
.head path { fill: #7b8794; }
.head.claim path { fill: #7a62b8; }
}
"""
