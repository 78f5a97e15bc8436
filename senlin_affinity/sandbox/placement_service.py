"""The real Placement, in this process."""

from __future__ import annotations

from senlin_affinity.sandbox import ini, nova_config
from senlin_affinity.sandbox.plan import Plan
from senlin_affinity.sandbox.template_databases import Templates, versions
from senlin_affinity.sandbox.wsgi import Application

#: What decides the schema, and the traits and resource classes that are in it.
_MAKERS = ('openstack-placement', 'os-traits', 'os-resource-classes', 'sqlalchemy')


def start(plan: Plan) -> Application:
    """Give the WSGI application, with its database ready."""
    from oslo_config import cfg
    from placement import conf, db_api, deploy
    from placement.db.sqlalchemy import migration

    path = plan.directory / 'placement.conf'
    path.write_text(ini.render(nova_config.placement_sections(plan)), encoding='utf-8')
    # Its own options, apart from Nova's global ones.
    options = cfg.ConfigOpts()
    conf.register_opts(options)
    options(['--config-file', str(path)], project='placement')
    db_api.configure(options)

    def make() -> None:
        migration.create_schema(db_api.get_placement_engine())
        deploy.update_database(options)

    templates = Templates(plan.cache, versions(_MAKERS), plan.directory)
    templates.provide('placement', make)
    return deploy.loadapp(options)
