# What `cmake --install` puts where. With DVFS_PLAN_BUNDLE every library but the C library's own goes along, so
# that the folder runs wherever glibc is at least as new as where it was built.
include(GNUInstallDirs)

if(DVFS_PLAN_BUNDLE)
  install(TARGETS dvfs-plan dvfs-mixed dvfs-guardian RUNTIME_DEPENDENCIES
          PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv)\\.so"
          RUNTIME DESTINATION bin LIBRARY DESTINATION lib)
else()
  install(TARGETS dvfs-plan dvfs-mixed RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(TARGETS dvfs-guardian RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR})
endif()
if(DVFS_PLAN_BUNDLE)
  set_target_properties(dvfs_plan_readings PROPERTIES INSTALL_RPATH "$ORIGIN/..")
endif()
install(TARGETS dvfs_plan_readings LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/dvfs-plan)
install(FILES results/SCHEMA.md results/notebooks/analyse.ipynb DESTINATION ${CMAKE_INSTALL_DATADIR}/dvfs-plan)
install(DIRECTORY experiments/ DESTINATION ${CMAKE_INSTALL_DATADIR}/dvfs-plan/experiments
        FILES_MATCHING PATTERN "*.yaml" PATTERN "*.py" PATTERN "*.h" PATTERN "*.json" PATTERN "plan" EXCLUDE)
